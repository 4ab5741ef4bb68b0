"""The certificate of a given release: exact, about the rows that leave and no others.

The population is the release itself, n rows with classes s_i and codes j_i, as they were drawn.
The attacker may know every original and label, the codes, the key and the whole table
c_sj = #{i: s_i = s, j_i = j}, but not which row is whose, and is shown one row:

    right with probability at most  sum_j max_s c_sj / n.

No sampling, no margin, no confidence level: every rule from codes to classes is right on exactly
sum_j c_{g(j), j} of the rows. `linked` and `known` are of the same table (see `linked` and
`elimination`); their Monte Carlo error is added to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from withhold.attribute import Attribute
from withhold.certificate.bound import Table, plug_in
from withhold.certificate.claims import ReleaseClaim
from withhold.certificate.elimination import DELTA, known_bounds, measured_rates
from withhold.certificate.linked import SIZES, linked_rate
from withhold.certificate.targets import JOINT, single, together

IntArray = npt.NDArray[np.int64]


class ReleaseTally:
    """Counts of the rows that leave, class by code, for each suppressed attribute.

    Filled batch by batch; its memory is that of (classes, codes) and does not grow with the rows.
    """

    def __init__(
        self, *, codes: int, suppress: Sequence[str], preserve: Sequence[str] = ()
    ) -> None:
        self.codes, self.suppress, self.preserve = codes, tuple(suppress), tuple(preserve)
        self.reasons: dict[str, str] = {}
        self._tables: dict[str, _Table] = {}
        self._rows = 0

    def add(self, drawn: IntArray, labels: Mapping[str, Attribute]) -> None:
        """Rows that leave: codes (n,) and the labels of the same rows.

        Suppressed attributes that `labels` does not have are not certified; `reasons` says so.
        """
        self._rows += len(drawn)
        given = [
            labels[name] for name in self.preserve if name in labels and not labels[name].multilabel
        ]
        targets = []
        for name in self.suppress:
            if name in labels:
                targets += single(labels[name])
            else:
                self.reasons[name] = f"the rows that leave have no labels of '{name}'"
        joint = together(targets) if len(targets) == len(self.suppress) else None
        for target in [*targets, *([joint] if joint is not None else [])]:
            table = self._tables.setdefault(target.name, _Table(self.codes))
            table.add(drawn, target, given)

    def claims(self) -> dict[str, ReleaseClaim]:
        """What is certified of each attribute, and of all together."""
        found = {}
        for name, table in self._tables.items():
            members = name.split(",")
            if len(members) > 1 and len(table.classes) > JOINT:
                self.reasons[name] = f"{len(table.classes):,} combinations are too many to certify"
            elif (table.counts.sum(axis=1) > 0).sum() < 2:
                self.reasons[name] = f"the rows that leave have fewer than two classes of '{name}'"
            elif name not in self.reasons:
                found[name] = release_claim(
                    table.counts, floor=table.floor, missing=self._rows - int(table.counts.sum())
                )
        return found


def release_claim(counts: Table, *, floor: float, missing: int = 0) -> ReleaseClaim:
    """The claim about rows with counts (K, N) of classes by codes."""
    n = int(counts.sum())
    one = plug_in(counts, n)
    linked, before = {}, one
    for r in SIZES:
        # More records never tell less; the maximum keeps Monte Carlo error from saying so.
        before = max(before, linked_rate(counts, r).at_most(DELTA))
        linked[str(r)] = before
    known = {share: max(bound, one) for share, bound in known_bounds(counts).items()}
    return ReleaseClaim(
        records=n,
        missing=missing,
        classes=int((counts.sum(axis=1) > 0).sum()),
        codes_used=int((counts.sum(axis=0) > 0).sum()),
        floor=floor,
        one=one,
        linked=linked,
        known=known,
        measured=measured_rates(counts),
    )


class _Table:
    """Counts of one attribute by code, and by preserved values for its floor."""

    def __init__(self, codes: int) -> None:
        self.classes: dict[str, int] = {}
        self.counts: Table = np.zeros((0, codes))
        self._given: dict[tuple[str, ...], dict[int, int]] = {}

    def add(self, drawn: IntArray, target: Attribute, given: Sequence[Attribute]) -> None:
        for name in target.classes:
            self.classes.setdefault(name, len(self.classes))
        if len(self.classes) > len(self.counts):
            more = np.zeros((len(self.classes) - len(self.counts), self.counts.shape[1]))
            self.counts = np.concatenate([self.counts, more])
        place = np.array([*(self.classes[name] for name in target.classes), -1], np.int64)
        known = target.codes >= 0
        s = place[target.codes[known]]
        np.add.at(self.counts, (s, drawn[known]), 1.0)
        if not given:
            return
        columns = np.stack([*(a.codes[known] for a in given), s], axis=1)
        rows, number = np.unique(columns, axis=0, return_counts=True)
        for row, count in zip(rows.tolist(), number.tolist(), strict=True):
            value = tuple(
                a.classes[c] if c >= 0 else "" for a, c in zip(given, row[:-1], strict=True)
            )
            inside = self._given.setdefault(value, {})
            inside[row[-1]] = inside.get(row[-1], 0) + count

    @property
    def floor(self) -> float:
        """The best guess without the codes: the majority, or from the preserved labels alone."""
        n = max(float(self.counts.sum()), 1.0)
        majority = float(self.counts.sum(axis=1).max(initial=0) / n)
        told = sum(max(inside.values()) for inside in self._given.values()) / n
        return max(majority, told)
