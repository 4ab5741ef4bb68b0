"""A certificate as JSON: there and back, the same bytes, and what is no certificate."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from certificate.made import TableChannel, bundle, data
from withhold import certify
from withhold.certificate.claim_wording import at_most, headline, sentence
from withhold.certificate.claims import Certificate
from withhold.core.errors import UserError


@pytest.fixture
def found() -> Certificate:
    types = np.arange(60) % 3
    new = data(types, one=[f"c{t}" for t in types], two=[f"d{t % 2}" for t in range(60)])
    return certify(bundle(TableChannel(np.eye(3)), suppress="one,two"), new)


def test_it_comes_back(found: Certificate, tmp_path: Path) -> None:
    found.to_json(tmp_path / "c.json")
    assert Certificate.from_json(tmp_path / "c.json") == found
    assert Certificate.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_the_same_bytes_twice(tmp_path: Path) -> None:
    types = np.arange(60) % 3
    for name in ("one", "two"):
        new = data(types, secret=[f"c{t}" for t in types])
        certify(bundle(TableChannel(np.full((3, 4), 0.25))), new).to_json(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_contract(found: Certificate) -> None:
    text = found.to_dict()
    assert text["schema"] == 1
    assert {"codes", "codebook_sha256", "fit_sha256", "labels_used", "assumptions"} <= set(text)
    assert {"name", "records", "part", "sha256", "near_twins"} == set(text["data"])
    assert set(text["attributes"]["one"]) == {
        "classes", "records", "missing", "majority", "floor", "plug_in", "slack", "bound", "by",
        "confidence", "groups", "linked", "worst_lift", "smallest_behind_code", "codes_used",
    }  # fmt: skip
    assert list(text["attributes"]["one"]["linked"]) == ["5", "20", "50"]
    assert list(text["attributes"]["one"]["groups"]) == ["reason", "records_apply"]
    assert all(a.endswith((".", "/ k.")) for a in text["assumptions"])


def test_in_words(found: Certificate) -> None:
    told = sentence("one", found.attributes["one"])
    assert told == (
        "no attacker reads 'one' from one record in more than 100.0 % of cases"
        " (confidence 95 %, 60 records; majority 33.3 %)"
    )
    # 'one' is given away whole, so it is the one to tell of.
    assert headline(found).startswith("certificate: no attacker reads 'one' from one record")
    assert headline(found).endswith("; 2 more in the certificate")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"schema": 2}', "schema 2, and 1 is wanted here"),
        ("{}", "schema None"),
        ('{"schema": 1, "version": "0"}', "'method' is missing"),
        ("{", "is not JSON"),
    ],
)
def test_what_is_no_certificate(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(UserError, match=told):
        Certificate.from_json(tmp_path / "c.json")


@pytest.mark.parametrize(
    ("bound", "said"), [(0.031, "3.1"), (0.03101, "3.2"), (0.0, "0.0"), (1.0, "100.0")]
)
def test_a_bound_is_rounded_up(bound: float, said: str) -> None:
    assert at_most(bound) == said
