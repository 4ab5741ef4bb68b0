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
from withhold.certificate.elimination_bound import ALL_BUT_ONE, known_bounds
from withhold.certificate.plan_tally import PlanTally
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.datasets.worlds.census import census
from withhold.learn.nets.device import threads
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source
from withhold.records.roles import Roles
from withhold.release.held_back import STAYS, original_rows, release_places
from withhold.release.released_dataset import release_dataset
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


def test_the_plan_of_all_rows_bounds_those_that_leave() -> None:
    """With a balanced plan an attacker who knows how many of each class left is right as often as
    by naming the commonest: no less, whatever the sizes, and no more."""
    rng = np.random.default_rng(2)
    s = np.repeat([0, 1], [60, 40])
    w = np.full((100, 4), 0.25, np.float32)
    attribute = Attribute("sex", "categorical", ("a", "b"), s)
    for _ in range(5):
        leaves = np.zeros(100, bool)
        leaves[rng.permutation(100)[:70]] = True
        tally = PlanTally(["sex"])
        tally.add(w, {"sex": attribute}, [""] * 100, leaves=leaves)
        again = PlanTally.from_json(["sex"], tally.to_json())
        for one in (tally, again):
            claim = one.claim("sex")
            assert claim is not None
            assert claim.one == pytest.approx(np.bincount(s[leaves]).max() / 70, abs=1e-9)
            assert claim.unequal < 1e-9


def test_an_unbalanced_plan_is_counted_over_all_rows() -> None:
    """The rows that leave draw as all rows of their class do, so their own sums are not the bound:
    here all rows of class a that leave happen to draw the first code."""
    s = np.repeat([0, 1], 50)
    w = np.zeros((100, 2), np.float32)
    w[:25, 0], w[25:50, 1], w[50:, 0] = 1, 1, 1
    leaves = np.ones(100, bool)
    leaves[25:50] = False
    tally = PlanTally(["sex"])
    tally.add(w, {"sex": Attribute("sex", "categorical", ("a", "b"), s)}, [""] * 100, leaves=leaves)
    claim = tally.claim("sex")
    assert claim is not None
    # m_a = 25, m_b = 50 of 75: code 0 max(12.5, 50), code 1 max(12.5, 0).
    assert claim.one == pytest.approx(62.5 / 75)


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
    one = stated.attributes["sex"].release
    assert one is not None
    assert one.plan is not None
    assert one.plan.one == pytest.approx(one.floor, abs=1e-6)
    assert one.known[ALL_BUT_ONE] < 1


def test_an_audit_takes_the_figures_of_a_signed_certificate_alone(tmp_path: Path) -> None:
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
    assert made.certificate is not None
    stated = made.certificate.attributes["sex"].release
    assert stated is not None
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
