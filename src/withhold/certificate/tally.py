"""The one thing that is kept of all records: summed probabilities, class by code."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.certificate.bound import Table

IntArray = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]


class Tally:
    """table[s, j] = sum_i weight_i 1[S_i = s] W(j | X_i): (K, N), float64."""

    def __init__(self, classes: int, codes: int) -> None:
        self.table: Table = np.zeros((classes, codes))

    def add(self, w: Table, classes: IntArray, weights: Weights | None = None) -> None:
        """Records with probabilities w: (n, N) and classes (n,); those of class -1 are left out."""
        order = np.argsort(classes, kind="stable")
        order = order[classes[order] >= 0]
        if not len(order):
            return
        rows = w[order] if weights is None else w[order] * weights[order, None]
        present, starts = np.unique(classes[order], return_index=True)
        self.table[present] += np.add.reduceat(rows, starts, axis=0)
