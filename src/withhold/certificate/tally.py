"""Counts of the codes that records were given, by class: all that a certificate keeps of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.certificate.bound import Table

IntArray = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]


class Tally:
    """table[s, j] = sum_i weight_i 1[S_i = s, J_i = j]: (K, N), float64.

    The draws J_i are counted, not the probabilities W(j | X_i): equal records share one keyed
    draw, so the channel that leaves is the one that the key fixed.
    """

    def __init__(self, classes: int, codes: int) -> None:
        self.table: Table = np.zeros((classes, codes))

    def add(self, drawn: IntArray, classes: IntArray, weights: Weights | None = None) -> None:
        """Records with codes (n,) and classes (n,); those of class -1 are left out."""
        known = classes >= 0
        amount = 1.0 if weights is None else weights[known]
        np.add.at(self.table, (classes[known], drawn[known]), amount)
