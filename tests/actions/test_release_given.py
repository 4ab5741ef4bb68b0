"""`release_given`: what the folder holds, what stays outside, and what a second run does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pc
import pytest

from support import Recorder
from withhold.actions import release_given as action
from withhold.actions.given_request import GivenRequest
from withhold.actions.release_given import Given, release_given
from withhold.actions.request import DataOptions
from withhold.bundle.bundle import load_bundle
from withhold.certificate import plan_tally
from withhold.certificate.claim_wording import at_most
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.errors import UserError
from withhold.core.key_file import write_key
from withhold.core.safe_read import file_sha256
from withhold.datasets.worlds import two_attributes
from withhold.datasets.worlds.census import census
from withhold.learn.nets.device import threads
from withhold.records.dataset import Dataset
from withhold.records.writers.row_list import read_rows
from withhold.release.wishes import Wishes

pytestmark = pytest.mark.usefixtures("less_monte_carlo")
QUICK = {"codes": 12, "rounds": 1, "exact_rounds": 0, "epochs": 2, "scores": "metric"}
FILES = {"people.csv", "certificate.json", "audit.json", "report.html", "README.md"}


@pytest.fixture(scope="module", autouse=True)
def _quick_certificate() -> Iterator[None]:
    """One thread, and no samples for several rows put together."""
    with pytest.MonkeyPatch.context() as patch, threads(1):
        patch.setattr(plan_tally, "_KEPT", 0)
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("given")
    pc.write_csv(census(300).select(["age", "sex", "owns_home"]), folder / "people.csv")
    write_key(folder / "owner.key", bytes(range(32)))
    return folder


def request(place: Path, output: str = "out", **more: Any) -> GivenRequest:
    given: dict[str, Any] = {"suppress": "sex", "config": QUICK, "quick": True}
    given |= {"data": place / "people.csv", "output": place / output, **more}
    return GivenRequest(key=place / "owner.key", **given)


@pytest.fixture(scope="module")
def given(place: Path) -> Given:
    """One whole run, with its audit."""
    return release_given(request(place))


@pytest.fixture
def audited(given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    """Further runs get the audit of the first one, which takes most of the time."""
    monkeypatch.setattr(action, "audit", lambda *_, **__: given.audit)


def below(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.*")}


def timeless(found: Any) -> Any:
    """What an audit found, but not when and how fast."""
    if isinstance(found, dict):
        return {k: timeless(v) for k, v in found.items() if k not in ("seconds", "made")}
    return [timeless(v) for v in found] if isinstance(found, list) else found


# --- the folder ---------------------------------------------------------------------------------


def test_the_folder_holds_five_files(given: Given, place: Path) -> None:
    assert given.folder == place / "out"
    assert {p.name for p in given.folder.iterdir()} == FILES
    assert given.release == place / "out" / "people.csv"
    assert given.passed


def test_the_release_is_what_the_certificate_is_about(given: Given, place: Path) -> None:
    table, original = pc.read_csv(given.release), pc.read_csv(place / "people.csv")
    assert table.column_names == ["age", "owns_home"]
    assert table.schema == original.schema.remove(1)
    certificate = ReleaseCertificate.from_json(given.folder / "certificate.json")
    assert certificate == given.certificate
    assert certificate.release.sha256 == file_sha256(given.release)
    assert certificate.release.name == "people.csv"
    assert certificate.is_signed_with(bytes(range(32)))
    claim = certificate.attributes["sex"].release
    assert claim is not None
    assert claim.stated == pytest.approx(claim.floor, abs=1e-6)


def test_the_audit_is_of_this_release(given: Given) -> None:
    found = json.loads((given.folder / "audit.json").read_text())
    whole = json.loads(given.audit.json_bytes())
    # Figures leave in steps, conclusions as they are.
    assert re.sub(r"[\d.]+ %", "", found["verdict"]) == re.sub(r"[\d.]+ %", "", whole["verdict"])
    # Facts about single records of the original stay in the house.
    assert whole["original"]["sha256"]
    assert found["original"]["sha256"] == ""
    assert found["map"] is None
    for name, attribute in found["attributes"].items():
        assert attribute["by_group"] == attribute["by_class"] == []
        assert attribute["status"] == whole["attributes"][name]["status"]
    assert set(found["attributes"]) >= {"sex"}
    assert given.audit.gate is None
    assert "people.csv" in (given.folder / "report.html").read_text()


def test_the_card_says_what_is_proved_and_what_is_not(given: Given) -> None:
    card = (given.folder / "README.md").read_text()
    claim = given.certificate.attributes["sex"].release
    assert claim is not None
    assert f"nobody names it correctly from one row in more than {100 * claim.floor:.1f} %" in card
    assert claim.plan is not None
    for most in (claim.plan.linked["20"], claim.linked["20"], claim.one):
        assert f"{at_most(most)} %" in card  # rounded up, as on the page
    for heading in ("What was done", "What is proved", "What is not proved", "How to check it"):
        assert f"## {heading}" in card
    assert file_sha256(given.release) in card
    assert "- sex: suppressed" in card
    assert "Columns: `age`, `owns_home`." in card  # a code span shows a backslash as it is
    assert "FAILED" not in card


def test_bundle_and_list_of_rows_stay_outside(given: Given, place: Path) -> None:
    assert given.bundle == place / "out.bundle"
    bundle = load_bundle(given.bundle, key=place / "owner.key")
    assert bundle.method == "exact"
    assert given.rows is not None
    assert given.rows.parent == place
    assert sorted(read_rows(given.rows).tolist()) == list(range(300))
    key = bundle.modifier.key
    for path in given.folder.iterdir():
        content = path.read_bytes()
        assert key not in content
        assert key.hex().encode() not in content
        assert str(place).encode() not in content


def test_nothing_is_left_beside(given: Given, place: Path) -> None:
    assert not [p.name for p in place.iterdir() if "partial" in p.name]


# --- a second run -------------------------------------------------------------------------------


def test_a_second_run_resumes_and_gives_the_same_bytes(given: Given, place: Path) -> None:
    """With its own audit: every file is the same, and nothing is fitted again."""
    told = Recorder()
    again = release_given(request(place, "again", bundle=given.bundle), told)
    one, two = below(given.folder), below(again.folder)
    for found in (one, two):
        del found["report.html"]  # it names the time of the audit
        found["audit.json"] = json.dumps(timeless(json.loads(found["audit.json"]))).encode()
    assert one == two
    assert again.rows == given.rows
    assert not [s for s in told.steps if "codes" in s or "balancing" in s]
    assert [s for s in told.steps if s.startswith("transforming")]


@pytest.mark.usefixtures("audited")
def test_another_fit_in_the_bundle_is_refused(given: Given, place: Path) -> None:
    with pytest.raises(UserError, match="holds a bundle of another fit"):
        release_given(request(place, "other", bundle=given.bundle, seed=1))
    assert not (place / "other").exists()


@pytest.mark.usefixtures("audited")
def test_overwrite(given: Given, place: Path) -> None:
    assert given.folder.exists()
    first = release_given(request(place, "twice"))
    with pytest.raises(UserError, match="holds another release; add --overwrite to replace it"):
        release_given(request(place, "twice", config=QUICK | {"codes": 9}))
    before = below(first.folder)
    second = release_given(request(place, "twice", config=QUICK | {"codes": 9}, overwrite=True))
    assert {p.name for p in second.folder.iterdir()} == FILES
    assert second.certificate.codes <= 9 < first.certificate.codes
    assert below(second.folder)["people.csv"] != before["people.csv"]


def test_a_folder_of_something_else_is_refused_even_to_overwrite(place: Path) -> None:
    (place / "foreign").mkdir()
    (place / "foreign" / "thesis.tex").write_text("years of work")
    for overwrite in (False, True):
        with pytest.raises(UserError, match="is not empty; choose another -o"):
            release_given(request(place, "foreign", overwrite=overwrite))
    assert below(place / "foreign") == {"thesis.tex": b"years of work"}
    assert not (place / "foreign.bundle").exists()


@pytest.mark.usefixtures("audited")
def test_an_empty_folder_is_filled(place: Path) -> None:
    (place / "empty").mkdir()
    made = release_given(request(place, "empty"))
    assert {p.name for p in made.folder.iterdir()} == FILES


def test_data_inside_the_folder_that_is_replaced_is_refused(given: Given, place: Path) -> None:
    """Otherwise the input would be gone."""
    before = below(given.folder)
    with pytest.raises(UserError, match=r"lies inside .*, which would be replaced"):
        release_given(request(place, suppress="owns_home", data=given.release, overwrite=True))
    assert below(given.folder) == before


@pytest.mark.parametrize("inside", ["in", "in/private", "in/../in/private"])
def test_a_bundle_inside_the_folder_is_refused(place: Path, inside: str) -> None:
    with pytest.raises(UserError, match="which is handed over: the bundle holds the key"):
        release_given(request(place, "in", bundle=place / inside))
    assert not (place / "in").exists()


# --- before the work ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"fail_if": ("sx>floor",)}, "attribute 'sx' is not in the audit"),
        ({"fail_if": ("sex is bad",)}, "is not NAME OP VALUE"),
        ({"wishes": Wishes(keep=("sex",))}, "column 'sex' is suppressed"),
        ({"wishes": Wishes(keep=("agee",))}, "column 'agee' is not in people.csv"),
        ({"config": QUICK | {"codes": 299}}, "299 codes are too many: class"),
        ({"suppress": "sexx"}, "'sexx'"),
        ({"preserve": "sex"}, "in both --suppress and --preserve"),
    ],
)
def test_mistakes_leave_nothing(place: Path, more: dict[str, Any], said: str) -> None:
    before = sorted(p.name for p in place.iterdir())
    with pytest.raises(UserError) as told:
        release_given(request(place, "mistake", **more))
    assert said in str(told.value)
    assert "\n" not in str(told.value)
    assert sorted(p.name for p in place.iterdir()) == before


# --- features -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("audited")
def test_features_and_a_preserved_column_that_is_kept(place: Path) -> None:
    world = two_attributes(300, 5, separation_suppress=2, separation_preserve=2, seed=5)
    Dataset.from_arrays(world.x, world.attributes).write(place / "x.parquet")
    made = release_given(
        request(
            place, "features", data=place / "x.parquet", suppress="secret", preserve="useful",
            wishes=Wishes(keep=("useful",)), config=QUICK | {"codes": 8},
        )
    )  # fmt: skip
    after = Dataset.read(made.release)
    assert made.rows is not None
    original = Dataset.read(place / "x.parquet").rows(read_rows(made.rows))
    assert after.table["useful"].to_pylist() == original.table["useful"].to_pylist()
    assert "secret" not in after.table.column_names
    assert len(np.unique(after.x, axis=0)) <= made.certificate.codes
    assert made.certificate.release.kept_by_name == ("useful",)
    assert made.certificate.preserve == ("useful",)


def test_the_kind_is_that_of_the_file(place: Path) -> None:
    assert DataOptions().resolved(place / "people.csv").kind == "table"
