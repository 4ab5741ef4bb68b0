"""The figures of a plan beside the codes that were drawn: honest ones pass, lies are refused."""

from __future__ import annotations

import numpy as np
import pytest

from withhold.audit.label_floor import floor_of
from withhold.audit.plan_check import check_plan
from withhold.certificate.claims import PersonClaim, PlanClaim
from withhold.certificate.whole_person import UnitLabels, of_unit
from withhold.core.errors import UserError
from withhold.records.attribute import Attribute

SIZES = ("5", "20", "50")


def labelled(name, codes):
    return Attribute(name, "categorical", tuple(map(str, range(codes.max() + 1))), codes)


def balanced(w, shares, steps=100):
    """Rows of w scaled so that their sum is len(w) * shares: (n, N) -> (n, N)."""
    for _ in range(steps):
        w = w * (len(w) * shares / w.sum(axis=0))
        w = w / w.sum(axis=1, keepdims=True)
    return w


def claim_of(w, s, u):
    """The honest figures of a plan; several rows tell no less than one."""
    right = unequal = 0.0
    for value in np.unique(u):
        here = u == value
        masses = np.stack([w[here & (s == c)].sum(axis=0) for c in np.unique(s[here])])
        sizes = np.array([(here & (s == c)).sum() for c in np.unique(s[here])])
        right += masses.max(axis=0).sum()
        common = masses.sum(axis=0) / sizes.sum()
        unequal = max(unequal, np.abs(masses / sizes[:, None] - common).max())
    one = min(float(right / len(w)), 1.0)
    return PlanClaim(one=one, linked=dict.fromkeys(SIZES, one), unequal=float(unequal))


def a_world(seed, *, even, rows=(60, 1500), classes=(2, 7)):
    """Random classes, preserved values and plan; `even` plans use the codes alike in each class."""
    rng = np.random.default_rng(seed)
    n, k, of = rng.integers(*rows), rng.integers(*classes), rng.integers(2, 40)
    s = rng.choice(k, n, p=rng.dirichlet(np.full(k, 3.0)))
    u = rng.integers(0, rng.integers(1, 4), n)
    tilt = rng.normal(size=(k, of)) * rng.choice([0.2, 1.0])
    w = np.exp(rng.normal(size=(n, of)) * rng.choice([0.3, 2.0]) + tilt[s])
    w /= w.sum(axis=1, keepdims=True)
    if even:
        for value in np.unique(u):
            shares = rng.dirichlet(np.full(of, 2.0)) + 1e-3
            for c in np.unique(s[u == value]):
                at = (u == value) & (s == c)
                w[at] = balanced(w[at], shares / shares.sum())
    drawn = (rng.random((n, 1)) > w.cumsum(axis=1)).sum(axis=1).clip(max=of - 1)
    return s, u, w, drawn, of


def checked(plan, s, u, drawn, of, *, told=True):
    attribute, given = labelled("secret", s), [labelled("kept", u)]
    known = given if told else None
    floor = floor_of(attribute, given if told else [])
    check_plan(plan, attribute, drawn, floor=floor, of=of, told=known)


@pytest.mark.slow
@pytest.mark.parametrize("even", [True, False])
def test_honest_figures_pass_in_200_worlds(even):
    for seed in range(200):
        s, u, w, drawn, of = a_world(seed, even=even)
        plan = claim_of(w, s, u)
        assert plan.unequal < 5e-3 or not even
        for told in (True, False):
            checked(plan, s, u, drawn, of, told=told)


def a_leak(n=6000, of=16, seed=0, more=0.6):
    """Two classes; the second is more often given the second half of the codes."""
    rng = np.random.default_rng(seed)
    s = (rng.random(n) < more).astype(np.int64)
    w = np.ones((n, of))
    w[s == 1, of // 2 :] = 4.0
    w /= w.sum(axis=1, keepdims=True)
    drawn = (rng.random((n, 1)) > w.cumsum(axis=1)).sum(axis=1).clip(max=of - 1)
    return s, np.zeros(n, np.int64), w, drawn, of


@pytest.mark.parametrize("unequal", [0.0, None])
def test_the_floor_is_refused_if_classes_use_other_codes(unequal):
    """With or without a lie about the difference between the classes."""
    s, u, w, drawn, of = a_leak()
    honest = claim_of(w, s, u)
    assert honest.one > 0.65
    checked(honest, s, u, drawn, of)
    floor = float(np.bincount(s).max() / len(s))
    lie = PlanClaim(
        one=floor,
        linked=dict.fromkeys(SIZES, floor),
        unequal=honest.unequal if unequal is None else unequal,
    )
    with pytest.raises(UserError, match="the rows contradict it"):
        checked(lie, s, u, drawn, of)


def test_equal_use_is_refused_even_where_the_majority_hides_the_difference():
    """One class is the commonest in every code, so the figure is the floor, but shares differ."""
    s, u, w, drawn, of = a_leak(more=0.85)
    honest = claim_of(w, s, u)
    assert honest.one == pytest.approx(np.bincount(s).max() / len(s))
    checked(honest, s, u, drawn, of)  # the figure is true, and it says how unequal they are
    with pytest.raises(UserError, match="the rows contradict it"):
        checked(honest.model_copy(update={"unequal": 1e-9}), s, u, drawn, of)


def test_a_figure_between_floor_and_truth_is_refused_without_the_preserved_labels():
    s, u, w, drawn, of = a_leak(n=40_000, more=0.5)
    honest = claim_of(w, s, u)
    checked(honest, s, u, drawn, of, told=False)
    lie = honest.model_copy(update={"one": honest.one - 0.08})
    with pytest.raises(UserError, match="the rows contradict it"):
        checked(lie, s, u, drawn, of, told=False)


@pytest.mark.parametrize("codes", [True, False])
def test_no_figure_is_below_guessing(codes):
    s, u, w, drawn, of = a_world(3, even=True)
    plan = claim_of(w, s, u)
    lie = plan.model_copy(update={"one": plan.one - 0.01})
    with pytest.raises(UserError, match=r"labels given here are guessed in .* without it"):
        checked(lie, s, u, drawn if codes else None, of)


@pytest.mark.parametrize("linked", [{"5": 0.9, "20": 0.8, "50": 0.9}, {"5": 0.9, "50": 1.0}, {}])
def test_more_rows_tell_no_less(linked):
    s, u, w, drawn, of = a_world(3, even=True)
    lie = claim_of(w, s, u).model_copy(update={"linked": linked})
    with pytest.raises(UserError, match="rows of its plan than for fewer, or nothing"):
        checked(lie, s, u, drawn, of)


def drawn_by_people(seed, *, even=True):
    """A world whose units draw once for 1 to 6 rows: the claim, the rows, and their people."""
    s, u, w, drawn, of = a_world(seed, even=even, rows=(300, 1500))
    rows = np.random.default_rng(seed).integers(1, 7, len(s))
    unit = np.repeat(np.arange(len(s)), rows)
    plan = claim_of(w, s, u)
    units = UnitLabels(np.arange(len(s)), s, [str(v) for v in u], rows, rows)
    floor, unit_figure = of_unit(w, units)
    figures = {"unit_floor": floor, "unit": max(unit_figure, plan.one)}
    all_rows = {"floor": floor, "all_rows": figures["unit"], "beside": 1.0}
    person = PersonClaim(column="id", people=len(s), draws=len(s), **figures, **all_rows)
    plan = plan.model_copy(update={"person": person})
    return plan, labelled("s", s[unit]), labelled("u", u[unit]), drawn[unit], of, unit


@pytest.mark.parametrize("seed", range(20))
def test_honest_plans_of_people_pass(seed):
    plan, s, u, drawn, of, people = drawn_by_people(seed)
    plan = plan.model_copy(update={"one": 0.99, "linked": dict.fromkeys(SIZES, 0.99)})
    person = plan.person.model_copy(update={"unit": 0.99, "all_rows": 0.99})
    plan = plan.model_copy(update={"person": person})
    check_plan(plan, s, drawn, floor=0.0, of=of, told=[u], people=people)
    check_plan(plan, s, drawn, floor=0.0, of=of, told=[u], people=None)
    check_plan(plan, s, None, floor=0.0, of=0, told=[u], people=people)


def test_rows_as_draws_would_contradict_some_honest_plans_of_people():
    """So people must be told apart: several rows of one draw vary more than rows that draw."""
    refused = 0
    for seed in range(20):
        plan, s, u, drawn, of, _ = drawn_by_people(seed)
        plan = plan.model_copy(update={"person": None})
        try:
            check_plan(plan, s, drawn, floor=0.0, of=of, told=[u])
        except UserError:
            refused += 1
    assert refused > 3


def test_several_codes_of_one_person_contradict_the_plan():
    plan, s, u, drawn, of, people = drawn_by_people(3)
    again = np.random.default_rng(0).integers(0, of, len(drawn))
    with pytest.raises(UserError, match="rows of one person have different codes"):
        check_plan(plan, s, again, floor=0.0, of=of, told=[u], people=people)


def test_people_whose_codes_differ_between_classes_contradict_the_plan():
    refused = 0
    for seed in range(20):
        plan, s, u, drawn, of, people = drawn_by_people(seed, even=False)
        plan = plan.model_copy(update={"unequal": 0.0})
        try:
            check_plan(plan, s, drawn, floor=0.0, of=of, told=[u], people=people)
        except UserError as error:
            refused += "differ more between classes" in str(error)
    assert refused > 5  # in some worlds the classes hardly differ


@pytest.mark.parametrize(
    "lie", [{"people": 99_999}, {"draws": 99_999}, {"unit_floor": 0.97}, {"floor": 0.97}]
)
def test_counts_and_floors_that_the_labels_contradict_are_refused(lie):
    """So a table, whose rows are not codes, cannot claim more either."""
    plan, s, u, _, _, people = drawn_by_people(3)
    person = plan.person.model_copy(update={"unit": 0.99, "all_rows": 0.99})
    plan = plan.model_copy(update={"person": person})
    check_plan(plan, s, None, floor=0.0, of=0, told=[u], people=people)
    plan = plan.model_copy(update={"person": person.model_copy(update=lie)})
    with pytest.raises(UserError, match="but the labels given here say"):
        check_plan(plan, s, None, floor=0.0, of=0, told=[u], people=people)


@pytest.mark.parametrize("lie", [{"unit": 0.1}, {"all_rows": 0.1}, {"unit_floor": 1.0}])
def test_less_for_all_rows_of_a_person_is_refused(lie):
    plan, s, *_ = drawn_by_people(3)
    plan = plan.model_copy(update={"person": plan.person.model_copy(update=lie)})
    with pytest.raises(UserError, match="for all rows of a person"):
        check_plan(plan, s, None, floor=0.0, of=0, told=None)
