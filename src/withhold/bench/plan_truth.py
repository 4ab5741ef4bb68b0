"""What the best attacker of a plan reads, computed in another way than the certificate does.

Row i of class s shows symbol j with probability W(j | i): its code together with its preserved
value. All multisets of symbols that r rows of a class can show are added up, row by row:

    prod_{i in s} (1 + sum_j W(j | i) z_j),

whose coefficient of z^m, divided by the binomial of n_s over r, is the probability P_s(m) that r
different rows of class s, chosen at random, show the multiset m. The best attacker of r rows is
right in B_r = sum_m max_s pi_s P_s(m). Exact, up to rounding, and affordable for few symbols.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from withhold.bench.plan_worlds import SECRET, PlanWorld, preserved
from withhold.methods.channel import counted
from withhold.methods.features.exact.modifier import ExactModifier

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_CELLS = 200_000  # multisets that are added up


@dataclass(frozen=True, eq=False)
class ShownPlan:
    """The plan over symbols w (n, N), the symbols (N,) that occur, and the classes s (n,)."""

    w: FloatArray
    symbols: IntArray
    s: IntArray


def shown(world: PlanWorld) -> ShownPlan:
    """What the rows of a world show: symbol u N + j of code j and preserved value u."""
    labels = {n: world.data.attribute(n) for n in world.modifier.needs}
    w = world.modifier.probabilities(world.data.x, labels).astype(np.float64)
    w /= w.sum(axis=1, keepdims=True)
    u = preserved(world)
    wide = np.zeros((len(w), int(u.max()) + 1, w.shape[1]))
    wide[np.arange(len(w)), u] = w
    flat = wide.reshape(len(w), -1)
    used = np.flatnonzero(flat.sum(axis=0) > 0)
    return ShownPlan(flat[:, used], used, world.data.attribute(SECRET).codes)


def best_of_one(w: FloatArray, s: IntArray) -> float:
    """sum_j max_s of the mass of class s at symbol j, over n."""
    masses = np.stack([w[s == c].sum(axis=0) for c in np.unique(s)])
    return float(masses.max(axis=0).sum() / len(s))


def best_of(w: FloatArray, s: IntArray, r: int) -> float | None:
    """B_r; classes with fewer than r rows count fully. None if there are too many multisets."""
    if (r + 1) ** w.shape[1] > _CELLS:
        return None
    sizes = np.bincount(s)
    able = np.flatnonzero(sizes >= r)
    certain = float(sizes[(sizes > 0) & (sizes < r)].sum() / len(s))
    if not len(able):
        return 1.0
    joint = np.stack([sizes[c] * multisets(w[s == c], r) for c in able]) / len(s)
    return certain + float(joint.max(axis=0).sum())


def multisets(w: FloatArray, r: int) -> FloatArray:
    """P(m) of the multisets of r different rows of w (n, N), as counts: (r + 1, ..., r + 1)."""
    n = w.shape[1]
    found = np.zeros((r + 1,) * n)
    found[(0,) * n] = 1.0
    for row in w:
        before = found.copy()
        for j in range(n):
            later = tuple(slice(1, None) if k == j else slice(None) for k in range(n))
            first = tuple(slice(None, -1) if k == j else slice(None) for k in range(n))
            found[later] += row[j] * before[first]
    total = np.indices(found.shape).sum(axis=0)
    chosen: FloatArray = np.where(total == r, found, 0.0) / comb(len(w), r)
    return chosen


def redrawn(world: PlanWorld, times: int, rng: np.random.Generator) -> IntArray:
    """The symbols that the rows show under other keys, as the release draws them: (times, n)."""
    made, data = world.modifier, world.data
    labels = {n: data.attribute(n) for n in made.needs}
    nonces, u = counted(data.x), preserved(world)
    found = np.empty((times, len(data)), np.int64)
    for t in range(times):
        other = ExactModifier(
            made.plan,
            rng.bytes(32),
            suppress=made.suppress,
            preserve=made.preserve,
            classes=made.classes,
            values=made.values,
        )
        found[t] = u * len(made.codes) + other.draw(data.x, labels, nonces=nonces)
    return found


def learned_rates(drawn: IntArray, s: IntArray) -> FloatArray:
    """How often a rule learned from one half of the releases is right in each of the others."""
    half = len(drawn) // 2
    table = np.zeros((int(s.max()) + 1, int(drawn.max()) + 1))
    np.add.at(table, (np.broadcast_to(s, drawn[:half].shape), drawn[:half]), 1.0)
    found: FloatArray = (table.argmax(axis=0)[drawn[half:]] == s).mean(axis=1)
    return found
