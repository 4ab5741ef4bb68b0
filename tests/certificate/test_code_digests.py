"""Rows of a release against the codes of a certificate, and which file a path names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from certificate.made import TableChannel, bundle, data
from support import TINY, mixed
from withhold import certify
from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import save_bundle
from withhold.certificate.claims import Certificate
from withhold.certificate.code_digests import ROWS, Rows, compare, digests
from withhold.certificate.reading import read_certificate
from withhold.core.errors import UserError
from withhold.records.roles import Roles

CODES = np.arange(12, dtype=np.float32).reshape(4, 3) - 5


def test_codes_are_told_from_other_rows() -> None:
    known = digests(CODES)
    assert compare(CODES[[3, 0, 0, 2]], known) == Rows(4, 0, 0)
    assert compare(CODES[:0], known) == Rows(0, 0, 0)
    near = np.nextafter(CODES, np.float32(np.inf))
    assert compare(np.concatenate([CODES, near, near]), known) == Rows(4, 8, 4)
    assert compare(CODES[:, ::-1], known) == Rows(0, 4, 4)


def test_kinds_are_counted_no_further_than_is_needed() -> None:
    x = np.random.default_rng(0).standard_normal((100, 3)).astype(np.float32)
    assert compare(x, digests(CODES)) == Rows(0, 100, 5)


def test_zero_is_zero_and_batches_do_not_matter() -> None:
    codes = np.array([[0.0, 1.0], [-0.0, 2.0]], np.float32)
    assert digests(codes) == digests(np.abs(codes))
    many = np.tile(codes, (ROWS, 1))
    assert compare(many, digests(codes)).codes == 2 * ROWS
    assert compare(np.asfortranarray(many), digests(codes)).others == 0


def test_a_certificate_has_a_digest_of_each_code() -> None:
    channel = TableChannel(np.full((2, 5), 0.2), d=2)
    types = np.arange(40) % 2
    found = certify(bundle(channel), data(types, secret=[f"s{t}" for t in types]))
    assert found.code_digests == digests(channel.codes)
    assert (found.codes, found.features) == (5, 2)
    assert len(set(found.code_digests)) == 5
    assert len(json.dumps(found.code_digests)) < 20 * 5


# --- which file --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("made")
    save_bundle(fit_bundle(mixed(), Roles.of("secret"), method="constant"), made / "codes")
    save_bundle(fit_bundle(mixed(), Roles.of("secret"), method="mass", config=TINY), made / "mass")
    return made


def test_a_bundle_and_its_file_are_one(folder: Path) -> None:
    one = read_certificate(folder / "codes")
    assert one == read_certificate(folder / "codes" / "certificate.json")
    assert one == Certificate.from_json(str(folder / "codes" / "certificate.json"))


def test_where_there_is_none(folder: Path, tmp_path: Path) -> None:
    said = {
        folder / "nowhere": "no certificate at .*nowhere; make one with: withhold certify",
        folder / "mass": "mass has no certificate; make one with",
        folder: "is not a bundle",
    }
    for path, told in said.items():
        with pytest.raises(UserError, match=told):
            read_certificate(path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"bound": 1.5}, "attributes.secret.bound' is missing or has an invalid value"),
        ({"bound": float("nan")}, "attributes.secret.bound' is missing or has an invalid value"),
        ({"confidence": 95}, "attributes.secret.confidence' is missing or has an invalid value"),
    ],
)
def test_figures_that_cannot_be(folder: Path, tmp_path: Path, change: dict, told: str) -> None:
    text = read_certificate(folder / "codes").to_dict()
    text["attributes"]["secret"] |= change
    (tmp_path / "c.json").write_text(json.dumps(text))
    with pytest.raises(UserError, match=told):
        read_certificate(tmp_path / "c.json")


@pytest.mark.parametrize("text", ["[]", "5", '"text"', "null"])
def test_json_that_is_no_certificate(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(UserError, match=r"c\.json: this is not a certificate; certify again"):
        read_certificate(tmp_path / "c.json")
