"""The rules of a comparison: which figure counts, what is kept, and which row is the best."""

from __future__ import annotations

import pytest

from compared_rows import compared, row
from withhold.audit.comparison import RunLeak, limits_of
from withhold.methods.features.codebook.budget import read_budget


def test_kept_is_the_gain_over_guessing_relative_to_the_original() -> None:
    half = row("noise", attack=0.6, colour=0.6)
    worse = row("noise, more", attack=0.6, colour=0.2)
    found = compared(half, worse)
    # `shape` cannot be read from the original, so it does not count.
    assert found.readable == ("colour",)
    assert found.kept(found.rows[0]) == 1.0
    assert found.kept(half) == pytest.approx(0.5)
    assert found.kept(worse) == 0.0


def test_without_a_budget_the_best_row_is_proved_and_near_the_floor() -> None:
    unproved = row("noise", attack=0.45, upper=0.5, colour=0.9)
    far = row("codebook", attack=0.5, proved=0.54, colour=0.85)
    near = row("exact", attack=0.5, proved=0.529, colour=0.7)
    less = row("exact, small", attack=0.5, proved=0.52, colour=0.6)
    assert compared(unproved, far, less, near).best == near
    assert compared(unproved, far).best is None


def test_a_budget_counts_the_proof_or_else_the_upper_end_of_the_interval() -> None:
    unsure = row("noise", attack=0.5, upper=0.56, colour=0.9)
    sure = row("noise, more", attack=0.5, upper=0.549, colour=0.5)
    # The attack is lucky, but the proved figure counts.
    proved = row("codebook", attack=0.5, upper=0.52, proved=0.58, colour=0.8)
    rows = (unsure, sure, proved)
    assert compared(*rows, budget="secret<=floor+5").best == sure
    assert compared(*rows, budget="secret<=floor+6").best == unsure
    assert compared(*rows, budget="secret<=58").best == unsure
    assert compared(proved, budget="secret<=floor+5").best is None
    # Its floor is that of the records of the proof, 52 %.
    assert compared(proved, budget="secret<=floor+6").best == proved
    assert compared(*rows, budget="secret<=0.05 bits").best is None


def test_every_suppressed_attribute_has_a_limit() -> None:
    limits = limits_of(read_budget("a<=60", ("a", "b")), ("a", "b"))
    assert [(limit.name, limit.most(0.5)) for limit in limits] == [("a", 0.6), ("b", 0.51)]


def test_seeds_are_combined_with_caution() -> None:
    first, second = (row("exact", attack=a, proved=p) for a, p in ((0.5, 0.52), (0.54, 0.53)))
    both = first.model_copy(update={"runs": (*first.runs, *second.runs)})
    leak = both.leak("secret")
    assert leak.accuracy == pytest.approx(0.52)
    assert leak.ci == pytest.approx((0.45, 0.59))
    assert leak.proved == 0.53
    other = row("exact", attack=0.5)
    assert (
        first.model_copy(update={"runs": (*first.runs, *other.runs)}).leak("secret").proved is None
    )


def test_excess_is_zero_exactly_where_the_limit_is_met() -> None:
    (limit,) = read_budget("s<=floor+1", ("s",))
    leak = RunLeak(accuracy=0.5, ci=(0.4, 0.6), floor=0.5, bits=0, attacker="trees")
    assert leak.excess(limit) == pytest.approx(0.09)
    proved = leak.model_copy(update={"proved": 0.51, "proved_floor": 0.5})
    assert proved.excess(limit) <= 0
    assert proved.model_copy(update={"proved": 0.511}).excess(limit) > 0
