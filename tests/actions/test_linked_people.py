"""People with five rows each: together they tell more than one row, and one row per person ends it.

`sex` is the same in all rows of a person. Its classes are balanced row by row, which says nothing
about how the rows of one person go together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support import Recorder
from withhold.actions.release import release
from withhold.certificate import plan_tally
from withhold.cli.main import outcome
from withhold.learn.nets.device import threads
from withhold.records.dataset import Dataset
from withhold.release.released_dataset import ReleasedDataset

ROWS = 5
QUICK = {"codes": 12, "rounds": 1, "exact_rounds": 0, "epochs": 2}


@pytest.fixture(scope="module", autouse=True)
def _quick_certificate() -> Iterator[None]:
    """One thread, and no samples for several rows put together."""
    with pytest.MonkeyPatch.context() as patch, threads(1):
        patch.setattr(plan_tally, "_KEPT", 0)
        yield


def people(number: int = 160) -> pd.DataFrame:
    """x is alike in all rows of a woman and not of a man; `plan` fits the sex in 3 of 4 rows."""
    rng = np.random.default_rng(0)
    n = number * ROWS
    female = np.repeat(rng.permutation(np.arange(number) % 2), ROWS)
    own = np.repeat(rng.normal(size=number), ROWS)
    return pd.DataFrame(
        {
            "person": [f"p{i // ROWS}" for i in range(n)],
            "sex": np.where(female, "female", "male"),
            "x": np.round(np.where(female, own, rng.normal(size=n)), 2),
            "plan": np.where(rng.random(n) < 0.75, female, 1 - female),
        }
    )


def released(
    frame: pd.DataFrame, *, preserve: str = "", per: str = "record", told: Recorder | None = None
) -> ReleasedDataset:
    data = Dataset.read(frame, kind="table", group="person")
    return release(
        data,
        suppress="sex",
        preserve=preserve,
        config=QUICK | {"per": per},
        key=bytes(range(32)),
        same_order=True,
        progress=told or Recorder(),
    )


def spread(frame: pd.DataFrame, made: ReleasedDataset) -> tuple[np.ndarray, np.ndarray]:
    """How far the rows of each person lie apart, and their sex: what who links rows can see."""
    x = pd.Series(made.table["x"].to_pandas().to_numpy(float), index=frame["person"].to_numpy())
    apart = x.groupby(level=0).std().fillna(0.0)
    sex = frame.groupby("person")["sex"].first()
    return apart.to_numpy(), (sex.loc[apart.index] == "female").to_numpy()


def best_threshold(value: np.ndarray, truth: np.ndarray) -> float:
    """The accuracy on the second half of a threshold that is chosen on the first."""
    half = len(value) // 2
    cuts = np.unique(value[:half])
    right = [((value[:half] <= c) == truth[:half]).mean() for c in cuts]
    return float(((value[half:] <= cuts[int(np.argmax(right))]) == truth[half:]).mean())


def test_rows_of_one_person_tell_what_no_single_row_does() -> None:
    frame, told = people(), Recorder()
    made = released(frame.drop(columns="plan"), told=told)
    assert best_threshold(*spread(frame, made)) > 0.7  # every second person is a woman
    assert made.certificate is not None
    claim = made.certificate.attributes["sex"].release
    assert claim is not None
    assert claim.stated == pytest.approx(claim.floor, abs=1e-6)  # of one row, the proof holds
    (line,) = [one for one in told.lines if "several rows" in one]
    assert "160 people of 'person' have several rows (up to 5), and 'sex' is the same" in line
    assert "draw one code per person (--set per=person), release one row per person" in line


@pytest.mark.slow
def test_the_linked_tier_reads_preserved_labels_of_all_rows() -> None:
    made = released(people(), preserve="plan")
    found = made.audit(quick=True, progress=Recorder()).attributes["sex"]
    assert found.linked["5"].accuracy > found.informed.accuracy + 0.08
    assert found.linked["5"].accuracy > 0.82  # five times 3 of 4: 90 %


def test_with_one_row_per_person_nothing_is_left() -> None:
    frame = people(400)
    frame = frame.groupby("person").sample(1, random_state=0).reset_index(drop=True)
    told = Recorder()
    made = released(frame, preserve="plan", told=told)
    assert not [one for one in told.lines if "several rows" in one]
    found = made.audit(quick=True, progress=Recorder()).attributes["sex"]
    assert found.linked == {}
    assert found.status == "floor"
    assert found.worst <= found.floor + 0.08
    assert (spread(frame, made)[0] == 0).all()  # one row has no spread


def test_an_attribute_that_differs_within_people_needs_no_warning() -> None:
    frame, told = people(60), Recorder()
    frame["sex"] = np.where(np.arange(len(frame)) % 2, "female", "male")
    released(frame, told=told)
    assert not [one for one in told.lines if "several rows" in one]


def test_the_audit_reads_how_rows_of_one_person_go_together() -> None:
    made = released(people().drop(columns="plan"))
    found = made.audit(quick=True, progress=Recorder()).attributes["sex"]
    assert found.informed.least <= found.floor  # one row tells nothing
    assert found.sure["linked5"]
    assert found.linked["5"].accuracy > 0.9
    assert found.linked["5"].learned
    assert found.linked["5"].attacker != "added up"
    assert found.status == "readable"


def test_one_code_per_person_ends_it_as_well() -> None:
    frame, told = people().drop(columns="plan"), Recorder()
    made = released(frame, per="person", told=told)
    assert not [one for one in told.lines if "several rows" in one]
    assert made.certificate is not None
    claim = made.certificate.attributes["sex"].release
    assert claim is not None
    assert claim.plan is not None
    person = claim.plan.person
    assert person is not None
    assert (person.people, person.draws) == (160, 160)
    assert person.all_rows == pytest.approx(claim.floor, abs=1e-6)
    found = made.audit(quick=True, progress=Recorder()).attributes["sex"]
    assert found.linked["5"].accuracy <= found.floor + 0.1
    assert not found.sure["linked5"]


@pytest.mark.slow
def test_terminal_card_and_page_say_what_is_proved_of_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    people().drop(columns="plan").to_csv("visits.csv", index=False)
    told, card = given("visits.csv", "out", capsys, "--set=per=person")
    proved = "proved of 'sex': All rows of one person name it in at most 50.0 % of cases"
    assert proved in " ".join(told.out.split())
    assert "the proof is about rows of which nobody knows" not in told.out
    assert "All rows of one person name it in at most 50.0 % of cases" in card
    page = " ".join(Path("out/report.html").read_text().split())
    assert "sees all rows of one person (their number alone tells it in" in page
    assert "Every person drew one code for all its rows" in page


@pytest.mark.slow
def test_terminal_and_card_say_what_linked_rows_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    people().drop(columns="plan").to_csv("visits.csv", index=False)
    told, card = given("visits.csv", "out", capsys)
    assert "df.groupby('person').sample(1)" in told.err
    assert "attacked: 5 rows of one person together name 'sex' in" in told.out
    assert "adding up what each row tells and of models trained on whole people" in told.out
    assert "do not hand over this folder before you have read report.html" in told.out
    assert "hand over this folder; start" not in told.out
    assert "Attackers who knew which rows are of one person named sex in" in card
    assert "models trained on whole people" in card
    page = Path("out/report.html").read_text()
    assert "someone who knows that 5 records are of one person" in page


@pytest.mark.slow
def test_a_kept_column_that_tells_in_all_rows_of_a_person_is_read_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows of a woman have one ward, those of a man are mixed; a single ward is a coin."""
    monkeypatch.chdir(tmp_path)
    rng, frame = np.random.default_rng(0), people(240)
    female = (frame["sex"] == "female").to_numpy()
    own = np.repeat(rng.integers(0, 2, 240), ROWS)
    ward = np.where(female, own, rng.integers(0, 2, len(frame)))
    x = rng.normal(size=(len(frame), 3)) + 2 * female[:, None] * [1, 0, 0]
    columns = {"sex": frame["sex"].tolist(), "ward": ward, "person": frame["person"].tolist()}
    Dataset.from_arrays(x.astype(np.float32), columns).write("visits.parquet")
    told, card = given("visits.parquet", "out", capsys, "--set=per=person", "--keep=ward")
    out, err = (" ".join(text.split()) for text in told)
    assert "neither in one row nor in the rows of one person together: ward" in err
    assert "totals of each code, in no more than" in out
    assert "%. This does not cover ward, kept by name" in out
    read = re.search(r"5 rows of one person together name 'sex' in ([\d.]+) %", out)
    assert read is not None
    assert float(read[1]) > 85  # five coins are all equal with 1/16, so 97 % can be named
    assert "do not hand over this folder before you have read report.html" in out
    assert "No figure about the rows of one person covers ward" in card


@pytest.mark.slow
def test_one_row_per_person_may_be_handed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = people(400).groupby("person").sample(1, random_state=0)
    tall = 15 * (frame["sex"] == "male") + np.random.default_rng(1).normal(165, 3, len(frame))
    frame.assign(height=tall.round(1)).to_csv("one.csv", index=False)
    told, card = given("one.csv", "one", capsys)
    assert "rows of one person" not in told.out
    assert "hand over this folder; start with README.md and report.html" in told.out
    assert "Attackers who knew which rows" not in card


def given(
    data: str, folder: str, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[pytest.CaptureResult[str], str]:
    """What `withhold release` says, and the card that it writes."""
    code = outcome(
        ["release", data, "--suppress", "sex", "--group", "person", "-o", folder,
         "--quick", *more, *(f"--set={n}={v}" for n, v in QUICK.items())]
    )  # fmt: skip
    assert code == 0
    return capsys.readouterr(), Path(folder, "README.md").read_text()
