"""A fit leaves its certificate in the bundle, and a bundle keeps it byte by byte."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from support import TINY, Recorder, mixed
from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import load_bundle, save_bundle
from withhold.bundle.bundle_files import EXTRA, MEMBERSHIP
from withhold.certificate.certify_bundle import certify
from withhold.certificate.claims import Certificate
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.suppressor import Suppressor

ROLES = Roles.of("secret", "colour")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "bundle"
    config = {"candidates": 8}
    save_bundle(fit_bundle(mixed(), ROLES, method="random-substitute", config=config), folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "bundle"))


def test_a_fit_certifies_and_says_so() -> None:
    said = Recorder()
    bundle = fit_bundle(mixed(), ROLES, method="constant", progress=said)
    assert bundle.certificate is not None
    a = Certificate.from_dict(bundle.certificate).attributes["secret"]
    assert a.plug_in == a.majority
    assert f"in more than {100 * a.bound:.1f} % of cases (confidence 95 %" in said.lines[-1]
    assert bundle.membership is not None
    data = mixed()
    assert bundle.membership.overlap(data.part("train", "val").x) == len(data.part("train", "val"))
    assert bundle.membership.overlap(data.part("test").x) == 0


def test_where_there_is_no_test_part_it_says_how_to_certify() -> None:
    said = Recorder()
    x, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2
    made = Suppressor(method="constant", progress=said).fit(x, y).bundle_
    assert made.certificate is None
    assert made.membership is not None
    assert "no certificate: " in said.lines[-1]
    assert "withhold certify BUNDLE DATA" in said.lines[-1]


def test_pass_is_certified_as_the_page_says() -> None:
    config = {"candidates": 8, "hidden": [8], "embedding": 4, "epochs": 1, "batch": 32}
    made = Suppressor(["secret"], ["colour"], method="pass", config=config).fit(mixed())
    assert made.bundle_.certificate is not None
    release = made.transform(mixed())
    assert release.certificate.attributes["secret"].release.one >= 0.5
    assert len(np.unique(release.x, axis=0)) <= 8
    page = (Path(__file__).parents[2] / "docs" / "certificate.md").read_text()
    certified, _, others = page.partition("## ")[0].partition("The others")
    assert "`pass`" in certified
    assert "`mass`" in others


def test_other_methods_have_neither(tmp_path: Path) -> None:
    bundle = fit_bundle(mixed(), ROLES, method="mass", config=TINY)
    assert (bundle.membership, bundle.certificate) == (None, None)
    save_bundle(bundle, tmp_path / "b")
    assert not any((tmp_path / "b" / name).exists() for name in EXTRA)


def test_both_come_back(saved: Path, tmp_path: Path) -> None:
    bundle = load_bundle(saved)
    assert bundle.certificate is not None
    assert bundle.membership is not None
    assert bundle.membership.overlap(mixed().part("train").x) == len(mixed().part("train"))
    save_bundle(bundle, tmp_path / "again")
    for file in saved.iterdir():
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()


def test_the_sums_name_them(saved: Path) -> None:
    lines = (saved / "SHA256SUMS").read_text().splitlines()
    assert [line.split("  ")[1] for line in lines][-2:] == list(EXTRA)


@pytest.mark.parametrize("name", EXTRA)
@pytest.mark.parametrize("damage", ["cut", "longer", "empty", "flip", "gone", "folder"])
def test_a_damaged_file_is_named(folder: Path, name: str, damage: str) -> None:
    file = folder / name
    data = file.read_bytes()
    file.unlink()
    flipped = bytes([data[0] ^ 1]) + data[1:]
    after = {"cut": data[:-1], "longer": data + b"\n", "empty": b"", "flip": flipped}
    if damage == "folder":
        file.mkdir()
    elif damage != "gone":
        file.write_bytes(after[damage])
    if name == MEMBERSHIP and damage == "gone":  # it need not travel
        assert load_bundle(folder).membership is None
        return
    with pytest.raises(UserError, match=name):
        load_bundle(folder)


def test_a_bundle_without_its_membership_transforms_and_certifies_only_the_file_of_the_fit(
    folder: Path,
) -> None:
    data, other = mixed(), mixed(seed=9)
    whole = load_bundle(folder)
    (folder / MEMBERSHIP).unlink()
    bundle = load_bundle(folder)
    np.testing.assert_array_equal(
        bundle.modifier.transform(other.x), whole.modifier.transform(other.x)
    )
    assert certify(bundle, data).attributes == certify(whole, data).attributes
    certify(whole, other)
    with pytest.raises(UserError, match="new records cannot be told from the fitted ones"):
        certify(bundle, other)


def test_every_byte_of_the_sums_counts(folder: Path) -> None:
    sums = folder / "SHA256SUMS"
    before = sums.read_bytes()
    for at in range(len(before)):
        sums.write_bytes(before[:at] + bytes([before[at] ^ 1]) + before[at + 1 :])
        with pytest.raises(UserError):
            load_bundle(folder)


def test_a_certificate_put_into_another_bundle_is_refused(saved: Path, tmp_path: Path) -> None:
    save_bundle(fit_bundle(mixed(), ROLES, method="mass", config=TINY), tmp_path / "mass")
    shutil.copy(saved / "certificate.json", tmp_path / "mass" / "certificate.json")
    with pytest.raises(UserError, match=r"certificate\.json is not what was written"):
        load_bundle(tmp_path / "mass")


def test_natural_twins_do_not_stop_a_fit() -> None:
    """A table whose rows repeat: the test part is disjoint by row, and that is enough."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (200, 2)).astype(np.float32)
    data = Dataset.from_arrays(x, {"secret": rng.integers(0, 2, 200)})
    assert fit_bundle(data, Roles.of("secret"), method="constant").certificate is not None
