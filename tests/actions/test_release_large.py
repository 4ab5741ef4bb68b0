"""`release_given` of a file whose features are not read into memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import Interrupted, Recorder
from withhold.actions.audit_files import audit_files
from withhold.actions.audit_request import AuditRequest
from withhold.actions.given_request import GivenRequest
from withhold.actions.release_given import Given, release_given
from withhold.actions.request import DataOptions
from withhold.audit import whole_release
from withhold.audit.audit_settings import AuditSettings
from withhold.audit.whole_release import WholeRelease, audited_rows
from withhold.certificate import plan_tally
from withhold.certificate.stated_figures import rounded_up
from withhold.core.errors import UserError
from withhold.core.key_file import write_key
from withhold.learn.nets.device import threads
from withhold.methods.features.exact import fit as exact_fit
from withhold.records import streamed
from withhold.records.dataset import Dataset
from withhold.records.streamed import StreamedDataset
from withhold.records.writers.row_list import read_rows

pytestmark = pytest.mark.usefixtures("less_monte_carlo")
QUICK = {"codes": 12, "rounds": 1, "exact_rounds": 0, "epochs": 2, "scores": "metric"}
N, ATTACKED = 6000, 900


@pytest.fixture(scope="module", autouse=True)
def _large() -> Iterator[None]:
    """Ten thousand numbers count as large, and a sample is small."""
    with pytest.MonkeyPatch.context() as patch, threads(1):
        patch.setattr(plan_tally, "_KEPT", 0)
        patch.setattr(streamed, "MOST", 10_000)
        patch.setattr(exact_fit, "SAMPLE", 5 * 2000)
        patch.setattr(whole_release, "AUDITED", ATTACKED)
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    two, word = rng.integers(0, 2, N), rng.integers(0, 3, N)
    x = rng.standard_normal((N, 5))
    x[:, 0] += 3 * two
    x[np.arange(N), 1 + word] += 4
    table = {
        "two": [f"a{v}" for v in two],
        "word": [f"w{v}" for v in word],
        "who": [f"p{v}" for v in np.arange(N) // 3],
    }
    Dataset.from_arrays(x.astype(np.float32), table).write(folder / "many.parquet")
    write_key(folder / "owner.key", bytes(range(32)))
    return folder


def request(place: Path, output: str = "out", **more: Any) -> GivenRequest:
    given: dict[str, Any] = {"suppress": "two", "config": QUICK, "quick": True}
    given |= {"data": place / "many.parquet", "output": place / output, **more}
    return GivenRequest(key=place / "owner.key", **given)


@pytest.fixture(scope="module")
def given(place: Path) -> Given:
    return release_given(request(place, fail_if=("two > floor+8",)))


@pytest.mark.slow
def test_the_certificate_is_exact_and_counted_on_all_rows(given: Given) -> None:
    claim = given.certificate.attributes["two"].release
    assert claim is not None
    assert claim.plan is not None
    assert claim.records == N
    assert claim.plan.unequal < 1e-6
    assert claim.plan.one == pytest.approx(claim.floor, abs=1e-6)
    checked = given.audit.attributes["two"].certificate
    assert checked is not None
    assert checked.checked
    assert checked.verified
    assert checked.recounted is not None
    assert claim.one == rounded_up(checked.recounted, records=N, floor=claim.floor)


def test_the_audit_says_that_it_attacked_a_sample(given: Given) -> None:
    found = given.audit
    assert found.records == N
    assert found.settings["sampled"] == {
        "rows": ATTACKED, "of": N, "drawn": "random rows", "seed": 0
    }  # fmt: skip
    assert sum(found.settings[part] for part in ("train", "val", "test")) == ATTACKED
    said = f"ttackers got {ATTACKED} of the 6,000 rows"
    assert said in found.notes[0]
    page = (given.folder / "report.html").read_text()
    assert said in page
    assert said in (given.folder / "README.md").read_text()
    assert given.passed


def test_every_attacked_row_is_paired_with_its_own_original(given: Given, place: Path) -> None:
    whole = both(place, given)
    before, after = whole.sample()
    original = Dataset.read(place / "many.parquet")
    release = Dataset.read(given.release)
    np.testing.assert_array_equal(before.x, original.x[whole.rows])
    assert after.file_rows is not None
    np.testing.assert_array_equal(after.x, release.x[after.file_rows])
    assert given.rows is not None
    listed = read_rows(given.rows)
    np.testing.assert_array_equal(whole.rows[after.original_rows], listed[after.file_rows])
    # Codes follow the useful label, so rows of strangers would not agree with it.
    word = original.attribute("word").codes[listed[after.file_rows]]
    centre = np.stack([after.x[word == v].mean(axis=0)[1:4] for v in range(3)])
    assert (centre.argmax(axis=1) == np.arange(3)).all()


def test_whoever_edits_a_release_cannot_know_which_rows_are_attacked(
    given: Given, place: Path, tmp_path: Path
) -> None:
    data, edited = place / "many.parquet", tmp_path / "edited.parquet"
    release = Dataset.read(given.release)
    release.x[-1] = release.x[0]
    release.write(edited)
    found = []
    for file in (given.release, given.release, edited):
        original, made = StreamedDataset.open(data, ("two",)), StreamedDataset.open(file, ())
        found.append(WholeRelease.of(original, made, ("two",), same_order=True, seed=0).rows)
    np.testing.assert_array_equal(found[0], found[1])
    assert len(np.intersect1d(found[0], found[2])) < ATTACKED / 3


def both(place: Path, given: Given, **options: Any) -> WholeRelease:
    """The release with the list of rows beside it, as when it was made."""
    assert given.rows is not None
    beside = given.release.with_name(given.rows.name.removeprefix(f"{given.bundle.name}."))
    beside.write_bytes(given.rows.read_bytes())
    try:
        reading = DataOptions(**options)
        return WholeRelease.of(
            reading.stream(place / "many.parquet", ("two",), Recorder()),
            StreamedDataset.open(given.release, ()),
            ("two",),
            same_order=False,
            seed=0,
        )
    finally:
        beside.unlink()


def test_another_original_is_refused(given: Given, place: Path, tmp_path: Path) -> None:
    data = Dataset.read(place / "many.parquet")
    data.rows(np.roll(np.arange(N), 1)).write(tmp_path / "many.parquet")
    with pytest.raises(UserError, match="made from other data"):
        both(tmp_path, given)


@pytest.mark.slow
def test_a_changed_label_contradicts_the_certificate(given: Given, place: Path) -> None:
    whole = both(place, given)
    codes = whole.original.attribute("two").codes
    codes[:] = np.roll(codes, 1)
    with pytest.raises(UserError, match="two"):
        whole.prove(given.certificate, asks_of(given, whole), key=bytes(range(32)))


def asks_of(given: Given, whole: WholeRelease) -> list[Any]:
    from withhold.audit.attack_plan import questions
    from withhold.audit.setting_groups import Effort
    from withhold.audit.split import Split
    from withhold.records.roles import Roles

    data = whole.sample()[0].with_drawn_split(("two",))
    split = Split.of(data, 0)
    limits = Effort(quick=True).limits
    return questions(data, Roles.of("two"), split, hidden=(), joint=(), limits=limits, seed=0)


def test_rows_of_one_person_are_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = np.random.default_rng(0).permutation(np.arange(9000) // 3)
    monkeypatch.setattr(whole_release, "_PEOPLE", 100)
    rows, people = audited_rows(9000, 900, groups, 0)
    assert people
    assert 900 <= len(rows) < 903
    assert (np.bincount(groups[rows])[np.unique(groups[rows])] == 3).all()
    few, people = audited_rows(9000, 900, np.arange(9000) % 4, 0)
    assert not people  # four people are not a sample of people
    assert len(few) == 900
    assert not np.array_equal(few, audited_rows(9000, 900, None, 1)[0])


@pytest.mark.slow
def test_killed_and_resumed_gives_the_same_bytes(given: Given, place: Path) -> None:
    for stage in ("balancing 12 codes", "code vectors", "transforming many.parquet"):
        with pytest.raises(Interrupted):
            release_given(request(place, "again"), Recorder(stop_in=stage))
    again = release_given(request(place, "again"), Recorder())
    for name in ("many.parquet", "certificate.json"):
        assert (again.folder / name).read_bytes() == (given.folder / name).read_bytes()


def test_small_files_are_read_as_before(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "MOST", 5 * N)
    assert not DataOptions().is_large(place / "many.parquet")
    monkeypatch.setattr(streamed, "MOST", 5 * N - 1)
    assert DataOptions().is_large(place / "many.parquet")


@pytest.mark.slow
def test_an_audit_of_the_files_attacks_the_same_sample(
    given: Given, place: Path, tmp_path: Path
) -> None:
    settings = AuditSettings(
        suppress=("two",), quick=True, certificate=str(given.folder / "certificate.json")
    )
    asked = AuditRequest(
        original=place / "many.parquet",
        release=given.release,
        output=tmp_path / "audit",
        settings=settings,
        rows=given.rows,
        key=place / "owner.key",
    )
    found = audit_files(asked)
    assert found.notes[0] == given.audit.notes[0]
    assert found.attributes["two"].informed == given.audit.attributes["two"].informed
    proved = found.attributes["two"].certificate
    assert proved == given.audit.attributes["two"].certificate
    assert proved is not None
    assert proved.checked


def test_rows_in_the_order_of_the_original_are_paired_by_it(place: Path) -> None:
    path = place / "many.parquet"
    both = [StreamedDataset.open(path, ("two",)) for _ in range(2)]
    whole = WholeRelease.of(both[0], both[1], ("two",), same_order=True, seed=3)
    before, after = whole.sample()
    np.testing.assert_array_equal(before.x, after.x)
    assert after.same_order
    assert len(before) == ATTACKED
