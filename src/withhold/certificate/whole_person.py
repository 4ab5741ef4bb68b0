"""What all rows of one person tell an attacker who knows everything but the draws.

Someone is picked, and the attacker is shown the codes of all rows of a unit (one person, one class,
one preserved value), or of a person. It also sees how many rows these are, and their preserved
values. A pick is a row at random, so that people count by their rows, or a person at random. The
higher figure is stated, with the floor of the pick in which the codes add more: a few people with
most of the rows must not hide what is read from all others.

1. One unit k with m_k rows and weight v_k (its rows, or 1), of class s_k:

       sum_u sum_m sum_j max_s of (sum over units k of u, m and s of v_k W(j | k)) / sum of v.

   Without the code it is sum_u sum_m max_s (sum over these units of v_k) / sum of v. Both are the
   same where every class uses the codes alike among the units with u and m, which `exact` does.

2. One person p of class s_p, with units k_1 .. k_V of different values: given p the draws are
   separate, so the codes y have P(y | p) = prod_v W(y_v | k_v). People with the same values and
   numbers of rows form a pattern; the attacker sees the pattern and names argmax_s of the sum of
   P(y | p) over the people of class s in it. For V = 1 it is computed as above. Otherwise people
   and codes are drawn and the largest posterior is averaged. Its mean is the figure; the limit of
   `mean_limit` is stated.

3. With all rows at hand, which show something of the draws: if even the number of people of each
   class is known that has the same values, numbers of rows and codes, the best guess is the
   commonest class among them. That is counted on the codes that were drawn.
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
Weights = npt.NDArray[np.float64]
Told = tuple[float, float]  # right without the codes, and with them
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

    @property
    def picks(self) -> tuple[Weights, Weights]:
        """The weights of the pairs if a row is picked, and if a unit is."""
        return self.rows.astype(np.float64), self.rows / self.size[self.unit]


def of_unit(w: FloatArray, units: UnitLabels) -> Told:
    """What the number of rows and the preserved value tell, and what all rows of one unit tell."""
    return _stated(unit_picks(w, units))


def unit_picks(w: FloatArray, units: UnitLabels) -> list[Told]:
    """The same if a row is picked, and if a unit is."""
    value = np.unique(np.array(units.told), return_inverse=True)[1].reshape(-1)
    seen = np.stack([value, units.size[units.unit]])
    kind = np.unique(seen, axis=1, return_inverse=True)[1].reshape(-1)
    found = []
    for weight in units.picks:
        floor = right = 0.0
        for one in range(int(kind.max()) + 1):
            at = np.flatnonzero(kind == one)
            without, with_code = _best(w, units, at, weight[at])
            floor, right = floor + without, right + with_code
        found.append(_shares(floor, right, float(weight.sum())))
    return found


@dataclass(frozen=True, eq=False)
class People:
    """People by what is seen of them without codes: places (G, V) of the units of each pattern."""

    units: UnitLabels
    patterns: list[IntArray]

    @classmethod
    def of(cls, units: UnitLabels, whose: IntArray) -> People | str:
        """The people, or why all rows of a person have no figure. whose (M,): of each unit."""
        own_places: dict[int, list[int]] = defaultdict(list)
        for place, person in enumerate(whose[units.unit].tolist()):
            own_places[person].append(place)
        total = np.bincount(whose, units.size, minlength=int(whose.max()) + 1)
        patterns: dict[tuple[tuple[str, int], ...], list[list[int]]] = defaultdict(list)
        for person, own in own_places.items():
            if units.rows[own].sum() < total[person]:
                return "some people have rows with and without a label"
            if len({int(units.label[i]) for i in own}) > 1:
                return "some people have rows of several classes"
            if len({units.told[i] for i in own}) < len(own):
                return "some people drew several codes for rows with one preserved value"
            own.sort(key=lambda i: units.told[i])
            seen = tuple((units.told[i], int(units.size[units.unit[i]])) for i in own)
            patterns[seen].append(own)
        return cls(units, [np.array(members) for _, members in sorted(patterns.items())])

    def told(self, w: FloatArray) -> Told:
        """What the numbers of rows by preserved value tell, and what all rows of a person tell."""
        return _stated(self.picks(w))

    def picks(self, w: FloatArray) -> list[Told]:
        """The same if a row is picked, and if a person is."""
        return [self._told(w, by_rows=by_rows) for by_rows in (True, False)]

    def _told(self, w: FloatArray, *, by_rows: bool) -> Told:
        units, floor, right, total = self.units, 0.0, 0.0, 0.0
        left: list[tuple[IntArray, Weights]] = []
        for places in self.patterns:
            label, weight = units.label[places[:, 0]], self._weights(places, by_rows)
            most = float(np.bincount(label, weight).max())
            floor, total = floor + most, total + float(weight.sum())
            if len(np.unique(label)) == 1:
                right += most
            elif places.shape[1] == 1:
                right += _best(w, units, places[:, 0], weight)[1]
            else:
                left.append((places, weight))
        if left:
            right += _by_draws(w, units, left)
        return _shares(floor, right, total)

    def with_all_rows(self, codes: IntArray) -> float:
        """The same if also the drawn codes (M,) of all people are at hand, and even counted."""
        found = []
        for by_rows in (True, False):
            right = total = 0.0
            for places in self.patterns:
                label, weight = self.units.label[places[:, 0]], self._weights(places, by_rows)
                drawn = codes[self.units.unit[places]]
                which = np.unique(drawn, axis=0, return_inverse=True)[1].reshape(-1)
                table = np.zeros((int(which.max()) + 1, int(label.max()) + 1))
                np.add.at(table, (which, label), weight)
                right, total = right + float(table.max(axis=1).sum()), total + float(weight.sum())
            found.append(right / total)
        return max(found)

    def _weights(self, places: IntArray, by_rows: bool) -> Weights:
        rows = self.units.rows[places].sum(axis=1)
        return rows.astype(np.float64) if by_rows else np.ones(len(places))


def _stated(picks: list[Told]) -> Told:
    """The floor of the pick in which the codes add most, and the highest figure of all picks."""
    floor, _ = max(picks, key=lambda told: (round(told[1] - told[0], 6), told[1]))
    return floor, max(figure for _, figure in picks)


def _shares(floor: float, right: float, total: float) -> Told:
    return floor / total, float(np.clip(right / total, floor / total, 1.0))


def _best(w: FloatArray, units: UnitLabels, at: IntArray, weight: Weights) -> tuple[float, float]:
    """Weight (g,) named without and with the code of a unit, among the pairs `at` (g,)."""
    label = np.unique(units.label[at], return_inverse=True)[1].reshape(-1)
    mass = np.zeros((int(label.max()) + 1, w.shape[1]))
    for s in range(len(mass)):
        own = label == s
        mass[s] = weight[own] @ w[units.unit[at[own]]].astype(np.float64)
    return float(np.bincount(label, weight).max()), float(mass.max(axis=0).sum())


def _by_draws(w: FloatArray, units: UnitLabels, patterns: list[tuple[IntArray, Weights]]) -> float:
    """An upper limit on the weight named, of people with several draws: places (G, V), (G,)."""
    rng = np.random.default_rng(_SEED)
    total = np.array([float(weight.sum()) for _, weight in patterns])
    cost = float(total / total.sum() @ [places.size for places, _ in patterns])
    number = int(np.clip(_WORK / cost, _LEAST, _DRAWS))
    often = rng.multinomial(number, total / total.sum())
    found = [
        _posteriors(w, units, places, weight, int(times), rng)
        for (places, weight), times in zip(patterns, often, strict=True)
        if times
    ]
    return float(total.sum()) * mean_limit(np.concatenate(found), DELTA)


def _posteriors(
    w: FloatArray,
    units: UnitLabels,
    places: IntArray,
    weight: Weights,
    number: int,
    rng: np.random.Generator,
) -> npt.NDArray[np.float64]:
    """The largest posterior from the codes of `number` people, drawn by their weight: (number,)."""
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
