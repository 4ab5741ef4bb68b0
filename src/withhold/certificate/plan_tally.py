"""The certificate of a plan: what is read by attackers who do not know the draws.

Every row i drew its code by itself, J_i ~ W(j | i). Shown one row whose code is j and whose
preserved labels are u, an attacker who knows everything but the draws and which row is whose is

    right with probability at most  sum_ju max_s M_suj / n,  M_suj = sum of W(j | i) over (s, u).

Exact: the row is any of the n with equal probability, so P(s, u, j) = M_suj / n. If all classes use
the codes in the same shares, M_suj = n_su b_uj, and the figure is the floor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.certificate.claims import PlanClaim
from withhold.certificate.leaving_rows import LeavingRows
from withhold.certificate.linked_bound import SIZES
from withhold.certificate.plan_linked import plan_linked, plan_linked_bound
from withhold.certificate.targets import single, together
from withhold.records.attribute import Attribute

FloatArray = npt.NDArray[np.float32]
Masses = npt.NDArray[np.float64]
_KEPT = 40_000_000  # numbers of the plan that are kept for rows of one class put together


class PlanTally:
    """Sums of the plan by class, preserved value and code, batch by batch.

    Its memory does not grow with the rows, except for the plan of the first rows: it is kept
    while it is small, for a sharper figure about several rows of one class.
    """

    def __init__(self, suppress: Sequence[str], *, keep: bool = True) -> None:
        """keep: whether the plan of the first rows is kept."""
        self.suppress = tuple(suppress)
        self._masses: dict[str, dict[tuple[str, str], Masses]] = {}
        self._sizes: dict[str, dict[tuple[str, str], int]] = {}
        self._plan: list[FloatArray] | None = [] if keep else None
        self._classes: dict[str, list[list[str | None]]] = {}
        self._told: list[list[str]] = []

    def add(
        self,
        w: FloatArray,
        labels: Mapping[str, Attribute],
        told: Sequence[str],
        *,
        times: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """Rows that leave: W (n, N), their labels, and their preserved values as text (n,).

        times (n,): how many rows each stands for in `one`, of a tally that does not keep the plan.
        """
        targets = [one for name in self.suppress if name in labels for one in single(labels[name])]
        whole = [labels[n] for n in self.suppress if n in labels and not labels[n].multilabel]
        joint = together(whole) if len(whole) == len(self.suppress) else None
        for target in [*targets, *([joint] if joint is not None else [])]:
            self._add(target, w, told, times)
        if self._plan is not None:
            self._plan.append(w)
            self._told.append([str(v) for v in told])
            if sum(p.size for p in self._plan) > _KEPT:
                self._plan = None

    def _add(
        self,
        target: Attribute,
        w: FloatArray,
        told: Sequence[str],
        times: npt.NDArray[np.int64] | None,
    ) -> None:
        masses = self._masses.setdefault(target.name, {})
        sizes = self._sizes.setdefault(target.name, {})
        values, which = np.unique(np.asarray(told, dtype=object).astype(str), return_inverse=True)
        pair = np.where(target.codes < 0, -1, target.codes * len(values) + which.reshape(-1))
        for code in np.unique(pair[pair >= 0]):
            rows = np.flatnonzero(pair == code)
            key = (target.classes[code // len(values)], str(values[code % len(values)]))
            if times is None:
                total, count = w[rows].sum(axis=0, dtype=np.float64), len(rows)
            else:
                total, count = times[rows] @ w[rows].astype(np.float64), int(times[rows].sum())
            masses[key] = masses[key] + total if key in masses else total
            sizes[key] = sizes.get(key, 0) + count
        if self._plan is not None:
            names = [target.classes[c] if c >= 0 else None for c in target.codes]
            self._classes.setdefault(target.name, []).append(names)

    def merge(self, later: PlanTally) -> None:
        """Add the sums of rows that come after these. One batch after the other, the result is the
        same to the last bit as if `add` had seen the batches here."""
        for name, found in later._masses.items():
            masses = self._masses.setdefault(name, {})
            sizes = self._sizes.setdefault(name, {})
            for key, total in found.items():
                masses[key] = masses[key] + total if key in masses else total
                sizes[key] = sizes.get(key, 0) + later._sizes[name][key]
        if self._plan is None or later._plan is None:
            self._plan = None
            return
        for name, batches in later._classes.items():
            self._classes.setdefault(name, []).extend(batches)
        self._plan += later._plan
        self._told += later._told
        if sum(p.size for p in self._plan) > _KEPT:
            self._plan = None

    @staticmethod
    def keeps(rows: int, codes: int) -> bool:
        """Whether the plan of so many rows is kept."""
        return rows * codes <= _KEPT

    def to_json(self) -> list[Any]:
        """The sums, without the plan of the first rows; `from_json` reads them."""
        return [
            [name, *key, self._sizes[name][key], mass.tolist()]
            for name, masses in self._masses.items()
            for key, mass in masses.items()
        ]

    @classmethod
    def from_json(cls, suppress: Sequence[str], rows: list[Any]) -> PlanTally:
        """The tally with these sums."""
        made = cls(suppress, keep=False)
        for name, s, u, size, mass in rows:
            made._masses.setdefault(name, {})[s, u] = np.array(mass, np.float64)
            made._sizes.setdefault(name, {})[s, u] = size
        return made

    def claim(self, name: str, *, leave: LeavingRows | None = None) -> PlanClaim | None:
        """What is certified of an attribute, or None if it has fewer than two classes.

        leave: how many of the rows leave, where the others are held back at random.
        """
        masses, sizes = self._masses.get(name, {}), self._sizes.get(name, {})
        classes = sorted({s for s, _ in masses})
        if len(classes) < 2:
            return None
        n = sum(sizes.values())
        values = sorted({u for _, u in masses})
        right, unequal = 0.0, 0.0
        for value in values:
            here = [masses[key] for key in masses if key[1] == value]
            count = [sizes[key] for key in masses if key[1] == value]
            right += float(np.max(here, axis=0).sum())
            common = np.sum(here, axis=0) / sum(count)
            far = [np.abs(m / c - common).max() for m, c in zip(here, count, strict=True)]
            unequal = max(unequal, float(max(far)))
        # In exact arithmetic it is never below the floor; sums of float32 may be, by rounding.
        floor = sum(max(sizes[key] for key in sizes if key[1] == v) for v in values) / n
        one = float(np.clip(right / n, floor, 1.0))
        return PlanClaim(one=one, linked=self._linked(name, classes, one, leave), unequal=unequal)

    def _linked(
        self, name: str, classes: list[str], one: float, leave: LeavingRows | None
    ) -> dict[str, float]:
        """From r rows of one class; more rows never tell less.

        The attacker sees the preserved labels too, so a code counts apart for each of them.
        """
        masses, sizes = self._masses[name], self._sizes[name]
        size = np.array([sum(k for (s, _), k in sizes.items() if s == c) for c in classes])
        values = sorted({u for _, u in masses})
        codes = len(next(iter(masses.values())))
        table = np.zeros((len(classes), len(values), codes))
        for (s, u), mass in masses.items():
            table[classes.index(s), values.index(u)] = mass
        seen = table.sum(axis=0) > 0  # (U, N): the pairs of value and code that occur
        pairs = np.nonzero(seen)
        plan = self._rows_of(name, classes, values, pairs)
        found, before = {}, one
        for r in SIZES:
            bound = plan_linked_bound(table[:, pairs[0], pairs[1]], size, r)
            if plan is not None:
                bound = min(bound, plan_linked(*plan, r))
            if leave is not None:
                bound += leave.too_few(size, r)
            before = max(before, bound)
            found[str(r)] = min(before, 1.0)
        return found

    def _rows_of(
        self,
        name: str,
        classes: list[str],
        values: list[str],
        pairs: tuple[npt.NDArray[np.int64], ...],
    ) -> tuple[FloatArray, npt.NDArray[np.int64]] | None:
        """The plan by pairs of value and code, (m, pairs), and the classes (m,), if it is kept."""
        value, code = pairs
        rows = sum(len(w) for w in self._plan or ())
        if self._plan is None or rows * len(code) > _KEPT:
            return None
        place = {c: i for i, c in enumerate(classes)}
        names = [v for batch in self._classes[name] for v in batch]
        s = np.array([-1 if v is None else place[v] for v in names], np.int64)
        known = np.flatnonzero(s >= 0)
        at = {u: i for i, u in enumerate(values)}
        u = np.array([at.get(v, -1) for batch in self._told for v in batch], np.int64)[known]
        w = np.concatenate(self._plan)[known][:, code]
        w[u[:, None] != value[None, :]] = 0
        return w, s[known]
