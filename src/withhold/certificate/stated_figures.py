"""The figures of a certificate as they are stated: rounded up, in steps.

With all digits they work like a hash of the labels. The figures of a plan depend on the originals,
the labels and the seed alone. Whoever knows the originals and most labels makes the release again
for every guess of the others, and sees which guess gives the printed figures: 8 unknown labels of
200 were found so. In steps of about ten records nearly all guesses give the same figures.

A bound is rounded up, so it stays a bound. The floor is not rounded: the proof of a balanced plan
is that nobody does better than the floor, and a figure that equals it must be seen to.
"""

from __future__ import annotations

from withhold.certificate.claim_wording import no_more
from withhold.certificate.claims import PersonClaim, PlanClaim, ReleaseClaim
from withhold.core.coarse_grid import RECORDS, Grid

# Steps in 1, finest first: 0.001 to 0.01. One label moves a figure by about 1 / records. Steps are
# no wider than a point, so that bounds of small releases stay useful, and they are multiples of
# 0.001, so that a text with one digit in percent shows what it would without them. Bounds near the
# floor of many classes (1.67 %) need no finer steps: so many classes take thousands of records.
_STEPS = (1000, 500, 200, 100)
# Powers of ten. Shares of a plan in single precision are not known better than the first.
_UNEQUAL = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0)


def stated(claim: ReleaseClaim) -> ReleaseClaim:
    """The claim with the figures to sign and write. Its floors and counts stay as they are."""
    made = claim.model_copy(
        update={
            "one": _drawn(claim.one, claim),
            "linked": {size: _drawn(figure, claim) for size, figure in claim.linked.items()},
            "known": {share: _drawn(figure, claim) for share, figure in claim.known.items()},
            "plan": None if claim.plan is None else _plan(claim.plan, claim),
        }
    )
    return with_coarse_attacks(made, Grid.of(claim.records))


def with_coarse_attacks(claim: ReleaseClaim, grid: Grid) -> ReleaseClaim:
    """The claim with its measured attacks on a grid; rounding puts none above its bound."""
    measured = {}
    for share, rate in claim.measured.items():
        near = grid.near(rate)
        measured[share] = near if near <= claim.known.get(share, 1.0) else grid.down(rate)
    return claim.model_copy(update={"measured": measured})


def rounded_up(figure: float, *, records: int, floor: float = 0.0) -> float:
    """The next step that is not below the figure, or the floor if the figure is not above it.

    records: labelled rows of the claim. A step has at least `RECORDS` of them if there are 1,000.
    """
    if figure <= floor:
        return floor
    steps = next((s for s in _STEPS if records >= RECORDS * s), _STEPS[-1])
    nearest = round(figure * steps)  # exact for figures on a step, unlike the product alone
    return min((nearest if nearest / steps >= figure else nearest + 1) / steps, 1.0)


def _drawn(figure: float, claim: ReleaseClaim) -> float:
    """A figure of the drawn table. It is a count, so the floor is stated only where it is equal."""
    return rounded_up(figure, records=claim.records, floor=claim.floor)


def _planned(figure: float, floor: float, records: int) -> float:
    """A figure of a plan. Sums in single precision may put it above a floor that it equals."""
    return floor if no_more(figure, floor) else rounded_up(figure, records=records, floor=floor)


def _plan(plan: PlanClaim, claim: ReleaseClaim) -> PlanClaim:
    n, one = claim.records, _planned(plan.one, claim.floor, claim.records)
    linked = {size: _planned(figure, claim.floor, n) for size, figure in plan.linked.items()}
    person = None if plan.person is None else _person(plan.person, one, n)
    unequal = next(power for power in _UNEQUAL if power >= plan.unequal)
    return plan.model_copy(
        update={"one": one, "linked": linked, "unequal": unequal, "person": person}
    )


def _person(person: PersonClaim, one: float, records: int) -> PersonClaim:
    """The figures for all rows of a person. They have floors of their own; more rows never tell
    less, also after rounding."""
    unit = max(_planned(person.unit, person.unit_floor, records), one)
    update = {"unit": unit}
    if person.all_rows is not None:
        update["all_rows"] = max(_planned(person.all_rows, person.floor or 0.0, records), unit)
        update["beside"] = max(_planned(person.beside or 1.0, 0.0, records), update["all_rows"])
    return person.model_copy(update=update)
