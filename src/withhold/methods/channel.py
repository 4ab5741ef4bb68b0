"""A modifier with finitely many outputs: the kind of release that can be certified.

Each record becomes one of N codes, J ~ W(j | x). Every attacker is a function of that one index, so
the best possible attacker can be computed: see `withhold.certificate`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from withhold.core.errors import RecordError
from withhold.core.keyed import keyed_uniform
from withhold.methods.modifier import FeatureModifier, FloatArray, Labels

IntArray = npt.NDArray[np.int64]
_PIECE = 2048  # records whose probabilities are in memory at once
_ROWS = 128  # records whose sums fit into the cache of a core


class Channel(FeatureModifier):
    """x' = c_J with J ~ W(. | x), drawn by a keyed hash of the record, and of its person if named.

    The draw is the inverse of the distribution function of W at a uniform number that depends on
    the record and the key. Asking twice gives the same code, and without the key it looks random.
    Equal records share a draw, unless `person` names the column of their persons.
    """

    codes: FloatArray  # (N, d)
    key: bytes
    person: str | None = None
    draws_by_row: ClassVar[bool] = False  # whether equal records draw separately, by nonces

    @property
    def dimension(self) -> int:
        """Features per record."""
        return int(self.codes.shape[1])

    @abstractmethod
    def _probabilities(self, x: FloatArray, labels: Labels) -> FloatArray:
        """W(j | x) of checked x: (n, d) -> (n, N); rows sum to 1."""

    def probabilities(self, x: FloatArray, labels: Labels | None = None) -> FloatArray:
        """W(j | x): (n, d) -> (n, N); rows sum to 1."""
        x, labels = self._checked(x, labels)
        if len(x) == 0:
            return np.empty((0, len(self.codes)), np.float32)
        return self._finite(x, labels)

    def _finite(self, x: FloatArray, labels: Labels) -> FloatArray:
        return finite(self._probabilities(x, labels))

    def draw(self, x: FloatArray, labels: Labels | None = None) -> IntArray:
        """The code of each record: (n, d) -> (n,). Works in pieces, to save memory."""
        x, labels = self._checked(x, labels)
        out = np.empty(len(x), np.int64)
        for start in range(0, len(x), _PIECE):
            rows = np.arange(start, min(start + _PIECE, len(x)))
            try:
                out[rows] = self._draw(x[rows], {n: a.rows(rows) for n, a in labels.items()})
            except RecordError as error:
                raise error.after(start) from None
        return out

    def _draw(self, x: FloatArray, labels: Labels) -> IntArray:
        return pick(self._finite(x, labels), self._uniforms(x, labels))

    def uniforms(self, x: FloatArray, labels: Labels | None = None) -> npt.NDArray[np.float64]:
        """The number in (0, 1) at which each record draws its code: (n, d) -> (n,)."""
        return self._uniforms(*self._checked(x, labels))

    def _uniforms(self, x: FloatArray, labels: Labels) -> npt.NDArray[np.float64]:
        return keyed_uniform(self.key, x, self._people(labels))

    def _people(self, labels: Labels) -> list[str] | None:
        """The name of the person of each record, empty if missing; None without such a column."""
        if self.person is None:
            return None
        found = labels[self.person]
        return [found.classes[c] if c >= 0 else "" for c in found.codes.tolist()]

    def _transform(self, x: FloatArray, labels: Labels) -> FloatArray:
        return self.codes[self.draw(x, labels)]


def pick(w: FloatArray, u: npt.NDArray[np.float64]) -> IntArray:
    """The inverse of the distribution function of w (n, N) at u (n,)."""
    place = np.empty(len(w), np.int64)
    for start in range(0, len(w), _ROWS):
        rows = slice(start, start + _ROWS)
        total = np.cumsum(w[rows], axis=1, dtype=np.float64)
        # Scaled by the sum of the row, so that rounding never leads past the last code.
        below = total < (u[rows] * total[:, -1])[:, None]
        place[rows] = np.minimum(below.sum(axis=1), w.shape[1] - 1)
    return place


def finite(w: FloatArray) -> FloatArray:
    """w (n, N) if it is finite. Otherwise refuse: NaN would be drawn as the first code."""
    right = np.isfinite(w).all(axis=1)
    if not right.all():
        raise RecordError(int(np.argmin(right)), "is too large to be given a code; drop it")
    return w


def counted(x: FloatArray) -> npt.NDArray[np.uint64]:
    """A nonce for each record (n, 1): the number of equal records before it."""
    _, value = np.unique(x + np.float32(0), axis=0, return_inverse=True)
    value = value.reshape(-1)
    order = np.argsort(value, kind="stable")
    starts = np.searchsorted(value[order], np.arange(int(value.max(initial=-1)) + 1))
    found = np.empty(len(x), np.uint64)
    found[order] = np.arange(len(x)) - starts[value[order]]
    return found[:, None]
