"""Rows that are held back: which ones, what is proved then, and the same by every way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import withhold as wh
from support import key_of
from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import Bundle
from withhold.certificate.claims import ReleaseClaim
from withhold.certificate.elimination_bound import ALL_BUT_ONE, known_bounds
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.datasets.worlds.census import census
from withhold.learn.nets.device import threads
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source
from withhold.records.roles import Roles
from withhold.release.held_back import STAYS, original_rows, release_places
from withhold.release.released_dataset import ReleasedDataset, release_dataset, released_rows
from withhold.release.stream import release_features
from withhold.release.wishes import Wishes

IntArray = npt.NDArray[np.int64]
PEOPLE = 400
CONFIG = {"codes": 12, "scores": "metric"}
SOME = Wishes(hold_back=0.1)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> object:
    with threads(1):
        yield


@pytest.fixture(scope="module")
def frame() -> pa.Table:
    return census(PEOPLE, seed=5).select(["age", "sex", "occupation", "hours_per_week"])


@pytest.fixture(scope="module")
def bundle(frame: pa.Table) -> Bundle:
    data = Dataset.read(frame, kind="table")
    return fit_bundle(data, Roles.of("sex"), method="exact", config=CONFIG, key=key_of(3))


def claim_of(released: ReleasedDataset) -> ReleaseClaim:
    assert released.certificate is not None
    found = released.certificate.attributes["sex"].release
    assert found is not None
    return found


# --- which rows ----------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.1, 0.33, 0.5])
def test_a_share_of_the_rows_stays(share: float) -> None:
    shuffled = np.random.default_rng(0).permutation(1000)
    places = release_places(shuffled, hold_back=share, same_order=False)
    leave = 1000 - round(1000 * share)
    assert sorted(places[places != STAYS].tolist()) == list(range(leave))
    rows = original_rows(places)
    assert np.array_equal(places[rows], np.arange(leave))
    assert set(rows.tolist()) == set(np.flatnonzero(shuffled < leave).tolist())


def test_the_order_of_the_original_would_show_the_gaps() -> None:
    with pytest.raises(UserError, match="shows where one is missing"):
        Wishes(hold_back=0.1, same_order=True)


@pytest.mark.parametrize("given", ["10", "ten", "60%", "-5%", 0.7])
def test_other_shares_are_refused(given: float | str) -> None:
    with pytest.raises(UserError, match=r"hold.back"):
        Wishes.of(hold_back=given)


def test_a_share_is_a_number_or_a_percentage() -> None:
    assert Wishes.of(hold_back="10%") == Wishes.of(hold_back=0.1) == Wishes.of(hold_back="0.1")


# --- what is proved ----------------------------------------------------


def test_the_bound_with_all_other_labels_is_that_of_the_best_attacker() -> None:
    """Ten classes with five rows at each of ten codes. Without rows held back, the class that lacks
    a row is surely the one. Otherwise the best attacker, who knows the table of all rows, names the
    class with most rows that are not labelled; simulated here."""
    rng = np.random.default_rng(0)
    s, j = (a.reshape(-1) for a in np.meshgrid(np.arange(10), np.arange(10)))
    s, j = np.repeat(s, 5), np.repeat(j, 5)
    table = np.full((10, 10), 5.0)
    assert known_bounds(table)[ALL_BUT_ONE] == 1.0
    for leave in (450, 400):
        right = []
        for _ in range(3000):
            leaves = rng.permutation(500)[:leave]
            row, others = leaves[0], leaves[1:]
            at = others[j[others] == j[row]]
            left = 5 - np.bincount(s[at], minlength=10)
            best = np.flatnonzero(left == left.max())
            right.append((best == s[row]).sum() / len(best))
        bound = known_bounds(table, leave=leave)[ALL_BUT_ONE]
        assert bound == pytest.approx(np.mean(right), abs=4 * np.std(right) / np.sqrt(3000))
        assert bound < 0.45


def test_more_rows_held_back_tell_less() -> None:
    table = np.random.default_rng(1).poisson(5, (20, 30)).astype(float)
    n = int(table.sum())
    found = [known_bounds(table, leave=round(n * keep))[ALL_BUT_ONE] for keep in (0.98, 0.9, 0.7)]
    assert found == sorted(found, reverse=True)
    assert found[0] < 1


def test_figures_are_of_all_rows(frame: pa.Table, bundle: Bundle) -> None:
    """Counted on the rows that leave, they would tell who is missing: whoever knows all other
    labels and the number of women among these rows gets the last one by subtraction."""
    data = Dataset.read(frame, kind="table")
    held, whole = (claim_of(release_dataset(bundle, data, w)) for w in (SOME, Wishes()))
    assert held.measured == {}
    changed = {"known", "measured"}
    assert held.model_dump(exclude=changed) == whole.model_dump(exclude=changed)
    assert held.known[ALL_BUT_ONE] < whole.known[ALL_BUT_ONE] == 1


def test_rows_of_a_class_of_which_few_leave_are_not_hidden_among_others() -> None:
    """Whoever is shown 20 rows of one class knows that they are not of a class of 20 rows of which
    some were held back, whatever the codes say."""
    rng = np.random.default_rng(0)
    s = rng.permutation(np.repeat([0, 1], [40, 20]))
    x = rng.normal(size=(60, 3)).astype(np.float32)
    data = Dataset.from_arrays(x, {"sex": np.array(["a", "b"])[s]})
    config = {"codes": 2, "scores": "metric"}
    claim = claim_of(wh.release(data, suppress="sex", config=config, hold_back=0.2))
    left = rng.multivariate_hypergeometric([40, 20], 48, size=20_000)
    able = left * (left >= 20)
    assert claim.plan is not None
    assert min(claim.linked["20"], claim.plan.linked["20"]) >= able[:, 0].sum() / able.sum()


# --- the whole way ----------------------------------------------------


def test_python_and_stream_give_the_same(frame: pa.Table, bundle: Bundle, tmp_path: Path) -> None:
    data = Dataset.read(frame, kind="table")
    held, whole = (release_dataset(bundle, data, wishes) for wishes in (SOME, Wishes()))
    assert len(held) == 360
    assert held.table.equals(whole.table.slice(0, 360))
    assert held.original_rows.tolist() == whole.original_rows[:360].tolist()
    pq.write_table(frame, tmp_path / "in.parquet")
    written = release_features(
        bundle, open_source(tmp_path / "in.parquet"), tmp_path / "out.parquet", SOME,
        features=bundle.feature_spec, progress=Silent(),
    )  # fmt: skip
    assert written.certificate is not None
    assert pq.read_table(tmp_path / "out.parquet").equals(held.table)
    stated = ReleaseCertificate.from_json(written.certificate)
    assert stated.release.records == 360
    assert stated.release.held_back == 40
    assert held.certificate is not None
    assert held.certificate.attributes == stated.attributes
    one = claim_of(held)
    assert one.plan is not None
    assert one.plan.one == pytest.approx(one.floor, abs=1e-6)
    assert one.known[ALL_BUT_ONE] < 1


def test_an_audit_takes_the_figures_of_a_signed_certificate_alone(tmp_path: Path) -> None:
    data, made = _released()
    stated = claim_of(made)
    known = {}
    for key in (key_of(5), None):
        found = wh.audit(
            data, made, suppress="sex", certificate=made.certificate, key=key, quick=True
        )
        shown = found.attributes["sex"].certificate
        assert shown is not None
        assert shown.release is not None
        known[key] = shown.release.known[ALL_BUT_ONE]
        assert not found.attributes["sex"].contradicted
    assert known[key_of(5)] == stated.known[ALL_BUT_ONE] < 1
    assert known[None] == 1


@pytest.mark.parametrize("stated", [0, 1, 119, 121, 10**6])
def test_a_certificate_with_another_number_of_rows_held_back_is_refused(stated: int) -> None:
    """With a million rows held back, the rows that left could contradict no figure."""
    data, made = _released()
    lie = _with_held_back(made, stated)
    with pytest.raises(UserError, match="held back"):
        wh.audit(data, made, suppress="sex", certificate=lie, quick=True)
    left = np.sort(made.original_rows)  # the original as someone has it who knows who left
    places = np.searchsorted(left, made.original_rows)
    if stated > len(made):
        with pytest.raises(UserError, match="held back"):
            wh.audit(
                data.rows(left),
                released_rows(made, places),
                suppress="sex",
                certificate=lie,
                quick=True,
            )


def test_the_certificate_says_what_rows_held_back_do_not_protect_from() -> None:
    """Of a person with several rows, and where a kept column shows who is missing."""
    rng = np.random.default_rng(3)
    s = rng.integers(0, 2, 50).repeat(4)
    labels = {
        "sex": np.array(["a", "b"])[s],
        "who": np.arange(50).repeat(4).astype(str),
        "id": np.arange(200).astype(str),
    }
    data = Dataset.from_arrays(rng.normal(size=(200, 2)).astype(np.float32), labels, group="who")
    fitted = fit_bundle(
        data,
        Roles.of("sex"),
        method="exact",
        config={"codes": 2, "scores": "metric"},
        key=key_of(1),
    )
    notes = {
        wishes: " ".join(made.certificate.notes)
        for wishes in (Wishes(hold_back=0.1), Wishes(hold_back=0.1, keep=("id",)), Wishes())
        if (made := release_dataset(fitted, data, wishes)).certificate is not None
    }
    several, kept, whole = notes.values()
    assert "a person with several rows" in several
    assert "shows who was held back" not in several
    assert "id, kept by name, shows who was held back" in kept
    assert "held back" not in whole


def _with_held_back(made: ReleasedDataset, number: int) -> ReleaseCertificate:
    assert made.certificate is not None
    wrong = made.certificate.release.model_copy(update={"held_back": number})
    return made.certificate.model_copy(update={"release": wrong})


def _released() -> tuple[Dataset, ReleasedDataset]:
    rng = np.random.default_rng(3)
    n = 600
    s = rng.integers(0, 2, n)
    x = (rng.normal(size=(n, 6)) + s[:, None]).astype(np.float32)
    data = Dataset.from_arrays(x, {"sex": np.array(["a", "b"])[s]})
    made = wh.release(
        data,
        suppress="sex",
        config={"codes": 8, "scores": "metric"},
        key=key_of(5),
        hold_back=0.2,
    )
    return data, made


def test_rows_of_people_who_draw_are_not_held_back() -> None:
    """Nothing is proved of a person of whom some rows leave."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(120), 2)
    table = {"sex": np.array(["f", "m"])[person % 2], "person": [f"p{i}" for i in person]}
    data = Dataset.from_arrays(
        rng.standard_normal((240, 4)).astype(np.float32), table, group="person"
    )
    config = {"codes": 4, "scores": "metric", "per": "person"}
    bundle = fit_bundle(data, Roles.of("sex"), method="exact", config=config, key=key_of(3))
    assert len(release_dataset(bundle, data, Wishes())) == 240
    with pytest.raises(UserError, match="leave out --hold-back or per=person"):
        release_dataset(bundle, data, SOME)
