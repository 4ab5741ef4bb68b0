"""A sparse table of counts: how many rows of a class have a code and a preserved value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.certificate.bound import Table

IntArray = npt.NDArray[np.int64]


class CountTable:
    """Counts of one attribute by code and preserved value, as a sparse table."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, int, str], int] = {}

    def copy(self) -> CountTable:
        """A table that starts with the same counts."""
        made = CountTable()
        made._cells = dict(self._cells)
        return made

    def add(self, drawn: IntArray, told: Sequence[str], values: Sequence[str | None]) -> None:
        """Rows with codes, preserved values and classes; those without a class are left out."""
        rows = zip(values, drawn.tolist(), told, strict=True)
        for cell, count in Counter(row for row in rows if row[0] is not None).items():
            key = (str(cell[0]), cell[1], cell[2])
            self._cells[key] = self._cells.get(key, 0) + count

    def merge(self, other: CountTable) -> None:
        """Add the counts of other rows."""
        for cell, count in other._cells.items():
            self._cells[cell] = self._cells.get(cell, 0) + count

    def to_json(self) -> list[Any]:
        """Class, code, preserved value and count of each cell."""
        return [[*cell, count] for cell, count in self._cells.items()]

    @classmethod
    def from_json(cls, rows: list[Any]) -> CountTable:
        """The table with these cells."""
        made = cls()
        made._cells = {(c, j, u): count for c, j, u, count in rows}
        return made

    def counts(self) -> Table:
        """Classes by pairs of code and preserved value, in the order of their names: (K, M)."""
        classes = {name: i for i, name in enumerate(self.classes)}
        pairs = {pair: i for i, pair in enumerate(self._pairs)}
        table: Table = np.zeros((len(classes), len(pairs)))
        for (c, j, u), count in self._cells.items():
            table[classes[c], pairs[j, u]] = count
        return table

    @property
    def _pairs(self) -> list[tuple[int, str]]:
        return sorted({(j, u) for _, j, u in self._cells})

    @property
    def columns(self) -> tuple[IntArray, IntArray]:
        """The code and the number of the preserved value of each column of `counts`: (M,) each."""
        number = {u: i for i, u in enumerate(sorted({u for _, u in self._pairs}))}
        columns = np.array([(j, number[u]) for j, u in self._pairs], np.int64).reshape(-1, 2)
        return columns[:, 0], columns[:, 1]

    @property
    def classes(self) -> list[str]:
        """The classes that occur, in the order of `counts`."""
        return sorted({c for c, _, _ in self._cells})

    @property
    def codes_used(self) -> int:
        """How many codes these rows were given."""
        return len({j for _, j, _ in self._cells})

    @property
    def floor(self) -> float:
        """The best guess without the codes: from the preserved labels alone."""
        by_value: dict[str, Counter[str]] = {}
        for (c, _, u), count in self._cells.items():
            by_value.setdefault(u, Counter())[c] += count
        n = max(sum(self._cells.values()), 1)
        return sum(max(inside.values()) for inside in by_value.values()) / n
