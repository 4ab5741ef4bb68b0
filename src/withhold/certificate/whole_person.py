"""What all rows of one person tell an attacker who knows everything but the draws.

A row is picked at random from n, and the attacker is shown the codes of all rows of its unit (one
person, one class, one preserved value), or of its person. It also sees how many rows these are,
and their preserved values.

1. One unit: with m_k rows in unit k, c_ks of them of class s, the best attacker is right in

       sum_u sum_m sum_j max_s of (sum over units k of value u with m_k = m of c_ks W(j | k)) / n.

   Without the code it is right in sum_u sum_m max_s (sum over these units of c_ks) / n. Both are
   the same where every class uses the codes alike among the units with u and m, which `exact` does.

2. One person p of class s_p, with units k_1 .. k_V of different values: given p the draws are
   separate, so the codes y have P(y | p) = prod_v W(y_v | k_v). People with the same values and
   numbers of rows form a pattern; the attacker sees the pattern and names argmax_s of the sum of
   P(y | p) over the people of class s in it. For V = 1 it is computed as above. Otherwise people
   and codes are drawn and the largest posterior is averaged. Its mean is the figure; the limit of
   `mean_limit` is stated.

If rows are held back, an attacker sees fewer of them. Which ones is drawn without regard to the
class, so both figures of all rows hold for those that leave.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.certificate.elimination_bound import DELTA
from withhold.certificate.mean_limit import mean_limit

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.floating]
_SEED = 0x3A
_DRAWS = 20_000  # people drawn, where the work allows it
_LEAST = 200
_WORK = 200_000_000  # draws x people of a pattern x values
_BLOCK = 4_000_000  # posteriors computed at once


@dataclass(frozen=True, eq=False)
class UnitLabels:
    """Pairs of a unit and a label: unit (m,), label (m,), preserved values told (m,), rows (m,).

    size (M,): all rows of each unit, with those without a label.
    """

    unit: IntArray
    label: IntArray
    told: list[str]
    rows: IntArray
    size: IntArray


def of_unit(w: FloatArray, units: UnitLabels) -> tuple[float, float]:
    """What the number of rows and the preserved value tell, and what all rows of one unit tell."""
    value = np.unique(np.array(units.told), return_inverse=True)[1].reshape(-1)
    seen = np.stack([value, units.size[units.unit]])
    kind = np.unique(seen, axis=1, return_inverse=True)[1].reshape(-1)
    floor = right = 0.0
    for one in range(int(kind.max()) + 1):
        at = np.flatnonzero(kind == one)
        without, with_code = _best(w, units, at)
        floor, right = floor + without, right + with_code
    n = float(units.rows.sum())
    return floor / n, float(np.clip(right / n, floor / n, 1.0))


def of_person(w: FloatArray, units: UnitLabels, whose: IntArray) -> tuple[float, float] | str:
    """The same for all rows of one person, or why there is no such figure. whose: (M,)."""
    people: dict[int, list[int]] = defaultdict(list)
    for place, person in enumerate(whose[units.unit].tolist()):
        people[person].append(place)
    total = np.bincount(whose, units.size, minlength=int(whose.max()) + 1)
    patterns: dict[tuple[tuple[str, int], ...], list[list[int]]] = defaultdict(list)
    for person, own in people.items():
        if units.rows[own].sum() < total[person]:
            return "some people have rows with and without a label"
        if len({int(units.label[i]) for i in own}) > 1:
            return "some people have rows of several classes"
        if len({units.told[i] for i in own}) < len(own):
            return "some people drew several codes for rows with one preserved value"
        own.sort(key=lambda i: units.told[i])
        seen = tuple((units.told[i], int(units.size[units.unit[i]])) for i in own)
        patterns[seen].append(own)
    n, floor, right = float(units.rows.sum()), 0.0, 0.0
    left: list[IntArray] = []  # places (G, V) of the units of the people of a pattern
    for _, members in sorted(patterns.items()):
        places = np.array(members)
        labels, rows = units.label[places[:, 0]], units.rows[places].sum(axis=1)
        most = float(np.bincount(labels, rows).max())
        floor += most
        if len(np.unique(labels)) == 1:
            right += most
        elif places.shape[1] == 1:
            right += _best(w, units, places[:, 0])[1]
        else:
            left.append(places)
    if left:
        right += _by_draws(w, units, left)
    return floor / n, float(np.clip(right / n, floor / n, 1.0))


def _best(w: FloatArray, units: UnitLabels, at: IntArray) -> tuple[float, float]:
    """Rows named without and with the code of a unit, among the pairs `at`."""
    label = np.unique(units.label[at], return_inverse=True)[1].reshape(-1)
    rows = units.rows[at].astype(np.float64)
    mass = np.zeros((int(label.max()) + 1, w.shape[1]))
    for s in range(len(mass)):
        own = label == s
        mass[s] = rows[own] @ w[units.unit[at[own]]].astype(np.float64)
    return float(np.bincount(label, rows).max()), float(mass.max(axis=0).sum())


def _by_draws(w: FloatArray, units: UnitLabels, patterns: list[IntArray]) -> float:
    """An upper limit on the rows named, of people with several draws: of places (G, V) each."""
    rng = np.random.default_rng(_SEED)
    rows = np.array([float(units.rows[places].sum()) for places in patterns])
    cost = float(rows / rows.sum() @ [places.size for places in patterns])
    number = int(np.clip(_WORK / cost, _LEAST, _DRAWS))
    often = rng.multinomial(number, rows / rows.sum())
    found = [
        _posteriors(w, units, places, int(times), rng)
        for places, times in zip(patterns, often, strict=True)
        if times
    ]
    return float(rows.sum()) * mean_limit(np.concatenate(found), DELTA)


def _posteriors(
    w: FloatArray, units: UnitLabels, places: IntArray, number: int, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """The largest posterior from the codes of `number` people, drawn by their rows: (number,)."""
    weight = units.rows[places].sum(axis=1).astype(np.float64)
    label = np.unique(units.label[places[:, 0]], return_inverse=True)[1].reshape(-1)
    found = []
    step = max(_BLOCK // len(places), 1)
    for start in range(0, number, step):
        who = rng.choice(len(places), min(step, number - start), p=weight / weight.sum())
        logs = np.tile(np.log(weight), (len(who), 1))
        for unit in units.unit[places].T:  # the units (G,) of one preserved value
            plan = w[unit].astype(np.float64)
            plan /= plan.sum(axis=1, keepdims=True)
            code = (plan.cumsum(axis=1)[who] < rng.random((len(who), 1))).sum(axis=1)
            code = np.minimum(code, plan.shape[1] - 1)
            with np.errstate(divide="ignore"):
                logs += np.log(plan)[:, code].T
        each = np.exp(logs - logs.max(axis=1, keepdims=True))
        by_class = np.stack([each[:, label == s].sum(axis=1) for s in range(label.max() + 1)])
        found.append(by_class.max(axis=0) / by_class.sum(axis=0))
    return np.concatenate(found)
