"""Figures as they are stated: never below the truth, and no hash of the labels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.pieces import given as a_claim
from withhold.certificate import plan_linked
from withhold.certificate.claim_wording import at_most
from withhold.certificate.claims import PersonClaim, PlanClaim, ReleaseClaim
from withhold.certificate.plan_tally import PlanTally
from withhold.certificate.stated_figures import rounded_up, stated, with_coarse_attacks
from withhold.core.coarse_grid import Grid
from withhold.records.attribute import Attribute

N = 200
SHARES = st.floats(0, 1)
RECORDS = st.integers(1, 10**6)
SUMS = 1e-5  # the precision of the sums of a plan


def balanced(w: npt.NDArray[np.float64], s: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """The plan scaled so that both classes use every code in the same share: (n, N)."""
    shares = w.mean(axis=0)
    for _ in range(60):
        for c in (0, 1):
            own = w[s == c]
            own = own * (len(own) * shares / own.sum(axis=0))
            w[s == c] = own / own.sum(axis=1, keepdims=True)
    return w.astype(np.float32)


def claim_of(x: npt.NDArray[np.float64], s: npt.NDArray[np.int64]) -> ReleaseClaim:
    """The plan of these originals and labels; no key has a part in it."""
    near = np.exp(-((x[:, None] - np.linspace(-1, 1, 6)[:, None]) ** 2).sum(axis=2))
    w = balanced(near / near.sum(axis=1, keepdims=True), s)
    tally = PlanTally(["s"])
    tally.add(w, {"s": Attribute("s", "categorical", ("a", "b"), s)}, [""] * len(s))
    floor = float(np.bincount(s).max() / len(s))
    return a_claim(records=len(s), floor=floor, plan=tally.claim("s"))


def test_relabelled_records_have_the_same_plan_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """50 guesses of 8 labels with the same class sizes: with all digits each shows in the plan."""
    monkeypatch.setattr(plan_linked, "_SAMPLES", 1)
    monkeypatch.setattr(plan_linked, "_MOST", 150)
    rng = np.random.default_rng(1)
    x, s = rng.normal(size=(N, 2)), (np.arange(N) % 9 < 4).astype(np.int64)
    unknown = rng.choice(N, 8, replace=False)
    s[unknown] = np.arange(8) % 2
    raw, told = [], []
    for _ in range(50):
        s[unknown] = rng.permutation(s[unknown])
        claim = claim_of(x, s)
        raw.append(claim.plan)
        told.append(stated(claim).plan)
    guesses = {p.model_dump_json() for p in raw if p is not None}
    left = {p.model_dump_json() for p in told if p is not None}
    assert len(guesses) > 25  # of the 70 guesses, 50 drawn
    assert len(left) <= 4
    for plan in told:
        assert plan is not None
        assert plan.one == claim.floor
        assert plan.unequal == 1e-7


@given(SHARES, RECORDS)
def test_a_bound_is_never_lowered_nor_raised_by_more_than_a_step(figure: float, n: int) -> None:
    told = rounded_up(figure, records=n)
    assert figure <= told <= min(figure + 0.01, 1.0) + 1e-12
    assert told <= figure + max(0.001, min(25 / n, 0.01)) + 1e-12
    assert rounded_up(told, records=n) == told


@given(SHARES, SHARES, SHARES, RECORDS)
def test_order_stays(one: float, two: float, floor: float, n: int) -> None:
    low, high = (rounded_up(f, records=n, floor=floor) for f in sorted([one, two]))
    assert floor <= low <= high <= 1


@given(st.integers(0, 10**6).map(lambda millionths: millionths / 10**6))
def test_a_text_with_one_digit_shows_the_same(figure: float) -> None:
    """52.09 % is shown as 52.1 %, stated in steps or not, if a step is 0.001."""
    assert at_most(rounded_up(figure, records=10_000)) == at_most(figure)


@pytest.mark.parametrize(
    ("figure", "records", "told"),
    [
        (0.5209, 10_000, 0.521),
        (0.521, 10_000, 0.521),
        (0.0223, 18_000, 0.023),  # AudioMNIST: 18 records a step
        (0.6534, 200, 0.66),
        (0.07, 200, 0.07),  # 100 * 0.07 is above 7
        (0.5431, 2_000, 0.545),
        (0.9999, 10_000, 1.0),
    ],
)
def test_steps_have_ten_records(figure: float, records: int, told: float) -> None:
    assert rounded_up(figure, records=records) == told


@given(st.lists(SHARES, min_size=8, max_size=8), SHARES, RECORDS)
def test_every_bound_holds_and_figures_stay_ordered(f: list[float], floor: float, n: int) -> None:
    one, five, twenty, fifty, unit, all_rows, of_unit, of_person = sorted(f)
    unit_floor, person_floor = min(unit, floor), min(all_rows, max(floor, of_unit))
    linked = {"5": five, "20": twenty, "50": fifty}
    person = PersonClaim(
        column="who",
        people=3,
        draws=3,
        unit_floor=unit_floor,
        unit=unit,
        floor=person_floor,
        all_rows=max(all_rows, of_person),
    )
    plan = PlanClaim(one=one, linked=linked, unequal=one, person=person)
    claim = a_claim(records=n, floor=floor, one=one, linked=linked, known={"0.5": five}, plan=plan)
    told = stated(claim)
    assert told.floor == floor
    assert told.one >= one
    assert told.known["0.5"] >= five
    assert all(told.linked[r] >= linked[r] for r in linked)
    assert told.plan is not None
    assert told.plan.person is not None
    assert told.plan.unequal >= plan.unequal
    assert all(told.plan.linked[r] >= linked[r] - SUMS for r in linked)
    assert told.plan.person.unit >= unit - SUMS
    assert told.plan.person.all_rows is not None
    assert person.all_rows is not None
    assert told.plan.person.all_rows >= person.all_rows - SUMS
    for figures in (
        [told.floor, told.one, *told.linked.values(), 1.0],
        [told.floor, told.plan.one, *told.plan.linked.values(), 1.0],
        [told.plan.one, told.plan.person.unit, told.plan.person.all_rows, 1.0],
    ):
        assert figures == sorted(figures)


def test_a_figure_at_its_floor_is_stated_as_the_floor() -> None:
    floor = 0.6692
    linked = {"5": floor + 3e-9, "20": floor + 9e-6, "50": floor + 2e-5}
    plan = PlanClaim(one=floor + 3.5e-9, linked=linked, unequal=1.1e-8)
    told = stated(a_claim(records=10_000, floor=floor, one=floor, plan=plan))
    assert told.one == floor
    assert told.plan == PlanClaim(
        one=floor, linked={"5": floor, "20": floor, "50": 0.67}, unequal=1e-7
    )
    # A count is not lowered: there the floor is stated only if it is equal.
    assert stated(a_claim(records=10_000, floor=floor, one=floor + 1e-6)).one == 0.67


def test_an_attack_in_steps_is_not_above_its_bound() -> None:
    claim = a_claim(known={"0.1": 0.59, "0.5": 0.64}, measured={"0.1": 0.578, "0.5": 0.598})
    assert with_coarse_attacks(claim, Grid(0.05)).measured == {"0.1": 0.55, "0.5": 0.6}
