"""The claims of one exact release beside the truth about it.

`plan` is about attackers who know all but the draws. Their best figures are computed by
`plan_truth`, and simulated: the same records are released again under many keys, and a rule learned
from one half of these releases attacks the other half. So a draw that does not follow the plan, or
rows that do not draw by themselves, would be noticed too.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.bench.given_attacks import Judged, by_attack, exactly, given_claims
from withhold.bench.held_back_soundness import held_back_claims
from withhold.bench.plan_truth import (
    IntArray,
    ShownPlan,
    best_of,
    best_of_one,
    learned_rates,
    multisets,
    redrawn,
    shown,
)
from withhold.bench.plan_worlds import PLAN_KINDS, SECRET, preserved
from withhold.certificate.elimination_bound import SHARES
from withhold.records.feasibility import contingency
from withhold.release.released_dataset import release_dataset

SIZES = (5, 20, 50)
_RELEASES = 120  # of the same records, each under a key of its own
_LINKED = 5  # rows of one class in the simulation
_MOST_SYMBOLS = 5  # of the simulation of several rows
_SAMPLES = 20  # of rows of one class, from each release


def judge_plan(kind: str, rng: np.random.Generator) -> list[Judged]:
    """Every claim about one world."""
    world = PLAN_KINDS[kind](rng)
    released = release_dataset(world.bundle, world.data)
    assert released.certificate is not None
    claim = released.certificate.attributes[SECRET].release
    assert claim is not None
    assert claim.plan is not None
    plan, drawn = shown(world), redrawn(world, _RELEASES, rng)
    s, said = plan.s, claim.plan
    found = [
        exactly("plan: one record", said.one, best_of_one(plan.w, s)),
        by_attack("plan: one record, redrawn", said.one, learned_rates(drawn, s), records=len(s)),
    ]
    for r in SIZES:
        truth = best_of(plan.w, s, r)
        if truth is not None:
            claimed = said.linked[str(r)]
            found.append(exactly(f"plan: {r} records of one class", claimed, truth))
    if np.bincount(s).min() >= _LINKED and plan.w.shape[1] <= _MOST_SYMBOLS:
        named = f"plan: {_LINKED} records of one class, redrawn"
        rates = _linked_rates(plan, drawn, rng)
        found.append(by_attack(named, said.linked[str(_LINKED)], rates, records=_SAMPLES))
    code = np.unique(released.x, axis=0, return_inverse=True)[1].reshape(-1)
    order, u = released.original_rows, preserved(world)
    table = contingency(s[order], code * (int(u.max()) + 1) + u[order])
    return [
        *found,
        *given_claims(table, claim, rng, shares=SHARES),
        *held_back_claims(world, plan, drawn, rng),
    ]


def _linked_rates(
    plan: ShownPlan, drawn: IntArray, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """The best rule of several rows of one class, in each release: (releases,)."""
    s = plan.s
    sizes = np.bincount(s)
    rows = [np.flatnonzero(s == c) for c in range(len(sizes))]
    joint = np.stack([sizes[c] * multisets(plan.w[rows[c]], _LINKED) for c in range(len(sizes))])
    rule = joint.argmax(axis=0)
    right = np.empty((len(drawn), _SAMPLES))
    for t, shown_ in enumerate(np.searchsorted(plan.symbols, drawn)):
        for i, c in enumerate(rng.choice(len(sizes), _SAMPLES, p=sizes / len(s))):
            seen = shown_[rng.choice(rows[c], _LINKED, replace=False)]
            right[t, i] = rule[tuple(np.bincount(seen, minlength=plan.w.shape[1]))] == c
    rates: npt.NDArray[np.float64] = right.mean(axis=1)
    return rates
