"""`withhold certify`: what it writes and prints, and the mistakes it names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from withhold.certificate.claims import Certificate
from withhold.records.dataset import Dataset

from .conftest import Run, snapshot

FIT = ("--method", "random-substitute", "--suppress", "secret", "-q")


@pytest.fixture
def fitted(place: Path, cli: Run) -> Path:
    """A bundle `codes` of data.parquet, whose test part was held out by `take`."""
    # The key decides the draws; of 60 records, some draws tell nothing at any confidence.
    Path("draws.key").write_bytes(bytes(range(1, 33)))
    Path("draws.key").chmod(0o600)
    held_out = ("--test", "take>=30", "--key", "draws.key")
    ran = cli("fit", "data.parquet", *FIT, *held_out, "-o", "codes")
    assert (ran.code, ran.err) == (0, "")
    return place


def test_the_file_of_the_fit_gives_the_certificate_of_the_fit(fitted: Path, cli: Run) -> None:
    ran = cli("certify", "codes", "data.parquet", "--test", "take>=30", "-o", "c.json")
    assert ran.code == 0
    assert Path("c.json").read_bytes() == Path("codes", "certificate.json").read_bytes()
    for told in ("attribute", "secret", "no attacker reads 'secret'", "assumes:", "c.json"):
        assert told in ran.out
    assert not list(fitted.glob(".*"))


def test_the_same_from_every_format(fitted: Path, cli: Run) -> None:
    for file in ("data.parquet", "data.npz"):
        assert cli("certify", "codes", file, "--test", "take>=30", "-o", f"{file}.json").code == 0
    one, two = (json.loads(Path(f"data.{kind}.json").read_text()) for kind in ("parquet", "npz"))
    assert one["attributes"] == two["attributes"]


def test_json_and_quiet(fitted: Path, cli: Run) -> None:
    asked = ("certify", "codes", "data.parquet", "--test", "take>=30", "-o", "c.json")
    ran = cli(*asked, "--json", "--quiet", "--confidence", "0.99")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == json.loads(Path("c.json").read_text())
    assert ran.json["attributes"]["secret"]["confidence"] == 0.99
    sure = Certificate.from_json("c.json").attributes["secret"].bound
    assert cli(*asked, "-q").out == ""
    assert Certificate.from_json("c.json").attributes["secret"].bound < sure


def test_new_records_of_named_people(fitted: Path, cli: Run) -> None:
    whole = Dataset.read("data.parquet")
    moved = whole.with_features(whole.x + 1)  # others, for the fit
    moved.write("new.parquet")
    ran = cli("certify", "codes", "new.parquet", "--group", "person", "-o", "c.json", "--json")
    assert ran.code == 0
    found = ran.json["attributes"]["secret"]
    assert found["smallest_behind_code"]["of"] == "person"
    assert "was given no group" in found["groups"]["reason"]
    assert cli("certify", "codes", "new.parquet", "-o", "c.json").code == 0


def test_several_labels_are_read_as_the_fit_read_them(place: Path, cli: Run) -> None:
    fit = ("fit", "wide.csv", "--features", "f_*", "--multilabel", "sound=loud,fast")
    method = ("--method", "constant", "--suppress", "sound", "--exclude", "id", "-q")
    assert cli(*fit, *method, "-o", "b").code == 0
    ran = cli("certify", "b", "wide.csv", "-o", "c.json", "--json", "-q")
    assert list(ran.json["attributes"]) == ["sound.loud", "sound.fast", "sound.loud,sound.fast"]


def test_mistakes(fitted: Path, cli: Run) -> None:
    before = snapshot(fitted)
    said = {
        ("codes", "data.parquet"): "34 of the 48 records of data.parquet were used in the fit",
        ("bundle", "data.parquet"): "method 'mass' has no certificate",
        ("codes", "zz.parquet"): "no such file: zz.parquet",
        ("nowhere", "data.parquet"): "no bundle at nowhere",
        ("codes", "data.parquet", "--confidence", "95"): "confidence must lie between 0 and 1",
        ("codes", "data.parquet", "--group", "persn"): "did you mean 'person'",
    }
    for arguments, told in said.items():
        assert told in cli("certify", *arguments, "-o", "c.json", "-q").mistake
    assert "is the input" in cli("certify", "codes", "data.parquet", "-o", "data.parquet").mistake
    assert "does not exist" in cli("certify", "codes", "data.parquet", "-o", "no/c.json").mistake
    assert snapshot(fitted) == before


def test_help(cli: Run) -> None:
    ran = cli("certify", "--help")
    assert (ran.code, ran.err) == (0, "")
    for option in ("--quiet", "--json", "--confidence", "--group", "--features"):
        assert option in ran.out


def test_the_front_door() -> None:
    import withhold

    assert "certify" in withhold.__all__
    assert withhold.certify.__module__ == "withhold.certificate.certify_bundle"


def test_records_of_the_fit_that_were_exported_again_are_refused(fitted: Path, cli: Run) -> None:
    """A float16 round trip, as another tool may do: the same people, and not new ones."""
    data = Dataset.read("data.parquet")
    half = data.x.astype("float16").astype("float32")
    data.with_features(half).write("half.parquet")
    asked = ("certify", "codes", "half.parquet", "-o", "c.json")
    assert "nearly equal to records of the fit" in cli(*asked).mistake
    assert not Path("c.json").exists()
    data.with_features(data.x + 1).write("new.parquet")
    ran = cli("certify", "codes", "new.parquet", "-o", "c.json")
    assert "of these records nearly equal a record of the fit" in ran.out


def test_a_bundle_of_another_key_is_refused(fitted: Path, cli: Run) -> None:
    asked = ("certify", "codes", "data.parquet", "--test", "take>=30", "-o", "c.json", "-q")
    assert "was made with another key" in cli(*asked, "--key", "owner.key").mistake
    assert cli(*asked, "--key", "codes/key").code == 0
    assert Certificate.from_json("c.json").signature is not None
