"""Mean and deviation of features that arrive in blocks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.media.extractors.extractor import FloatArray


class Moments:
    """Sums of x - o and (x - o)^2 in double precision, with o the first record, so that no digits
    are lost if features are large and vary little.

    Records are always summed in blocks of `ROWS`, so that an interrupted run gives the same last
    bit. (scikit-learn's StandardScaler.partial_fit depends on how the records are split.)
    """

    ROWS = 1024

    def __init__(self, dimension: int) -> None:
        self.count = 0
        self._origin = np.zeros(dimension)
        self._sums = np.zeros((2, dimension))
        self._held = np.zeros((0, dimension), np.float32)

    def add(self, x: npt.NDArray[np.float32]) -> None:
        """Include the records x: (n, d)."""
        if len(x) and not self.count:
            self._origin = x[0].astype(np.float64)
        self.count += len(x)
        held = np.concatenate([self._held, x])
        whole = len(held) - len(held) % self.ROWS
        for start in range(0, whole, self.ROWS):
            self._sums = self._sums + self._of(held[start : start + self.ROWS])
        self._held = held[whole:].copy()

    def _of(self, x: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        apart = x - self._origin
        return np.stack([apart.sum(axis=0), np.square(apart).sum(axis=0)])

    @property
    def _means(self) -> npt.NDArray[np.float64]:
        means: npt.NDArray[np.float64] = (self._sums + self._of(self._held)) / self.count
        return means

    @property
    def mean(self) -> FloatArray:
        """(d,)."""
        mean: FloatArray = (self._origin + self._means[0]).astype(np.float32)
        return mean

    @property
    def deviation(self) -> FloatArray:
        """(d,), of the population (divided by n)."""
        mean, square = self._means
        variance = np.maximum(square - np.square(mean), 0)
        deviation: FloatArray = np.sqrt(variance).astype(np.float32)
        return deviation
