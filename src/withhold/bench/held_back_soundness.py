"""The claims of an exact release that holds rows back, beside attacks on it.

Which rows stay is drawn anew in every attack, like the draws of the codes where they are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from withhold.bench.given_attacks import SETS, Judged, by_attack
from withhold.bench.plan_truth import IntArray, ShownPlan
from withhold.bench.plan_worlds import SECRET, PlanWorld, preserved
from withhold.certificate.elimination_bound import ALL_BUT_ONE
from withhold.records.feasibility import contingency
from withhold.release.released_dataset import release_dataset
from withhold.release.wishes import Wishes

FloatArray = npt.NDArray[np.float64]
_HELD = (0.05, 0.1, 0.2, 0.4)


def held_back_claims(
    world: PlanWorld, plan: ShownPlan, drawn: IntArray, rng: np.random.Generator
) -> Iterator[Judged]:
    """Each claim beside its attack. drawn: symbols under other keys, (T, n)."""
    share = float(rng.choice(_HELD))
    held, whole = (
        release_dataset(world.bundle, world.data, Wishes(hold_back=h)) for h in (share, 0.0)
    )
    assert held.certificate is not None
    claim = held.certificate.attributes[SECRET].release
    if claim is None or claim.plan is None:  # one class left
        return
    u, m = preserved(world), len(held)
    rates = _of_plan(plan, np.searchsorted(plan.symbols, drawn), m, rng)
    yield by_attack("plan: one record, rows held back", claim.plan.one, rates, records=m)
    # The same rows drew the same codes in both releases.
    code = np.empty(len(whole), np.int64)
    code[whole.original_rows] = np.unique(whole.x, axis=0, return_inverse=True)[1].reshape(-1)
    column = code * (int(u.max()) + 1) + u
    rates = np.array([eliminated(plan.s, column, m, rng) for _ in range(SETS)])
    stated = claim.known[ALL_BUT_ONE]
    yield by_attack("given: all other labels known, rows held back", stated, rates, records=m)


def _of_plan(plan: ShownPlan, shown: IntArray, m: int, rng: np.random.Generator) -> FloatArray:
    """How often a rule learned from one half of the releases is right on the m rows that leave in
    each of the others."""
    half, s = len(shown) // 2, plan.s
    table = np.zeros((int(s.max()) + 1, plan.w.shape[1]))
    np.add.at(table, (np.broadcast_to(s, shown[:half].shape), shown[:half]), 1.0)
    rule, found = table.argmax(axis=0), np.empty(len(shown) - half)
    for t, symbols in enumerate(shown[half:]):
        leaves = rng.permutation(len(s))[:m]
        found[t] = (rule[symbols[leaves]] == s[leaves]).mean()
    return found


def eliminated(s: IntArray, column: IntArray, m: int, rng: np.random.Generator) -> float:
    """Someone who knows the table of all rows, and the labels of all rows that leave but one.

    At its code, the best guess is the class with most rows that are not known to have left.
    """
    leaves = rng.permutation(len(s))[:m]
    gone = np.zeros((int(s.max()) + 1, int(column.max()) + 1))
    np.add.at(gone, (s[leaves], column[leaves]), 1.0)
    left = (contingency(s, column) - gone)[:, column[leaves]]  # (K, m)
    left[s[leaves], np.arange(m)] += 1  # the row itself has no known label
    best = left == left.max(axis=0)
    return float((best[s[leaves], np.arange(m)] / best.sum(axis=0)).mean())
