"""The largest posterior of a class given r codes of it, drawn without replacement.

Rows of the table are classes, or people who have a class each. With c_gj the count of code j in row
g and m_g = sum_j c_gj, the codes y of r records of row g have

    P_g(y) = prod_t (c_g,y_t - earlier occurrences of y_t) / (m_g - t).

Rows with equal counts have equal P, so they are one row of `LinkedCodes`: its work is that of the
distinct rows.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb, lgamma

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
_CELLS = 200_000  # of a block of samples: small blocks stay in the cache


class LinkedCodes:
    """Rows of counts (P, N), each with at least r records, and their classes `owner` (P,).

    `distinct` (G, N) are the different rows, `share` (G,) their priors.
    """

    def __init__(self, counts: IntArray, owner: IntArray, r: int) -> None:
        self.r = r
        self.distinct, member = np.unique(counts, axis=0, return_inverse=True)
        member = member.reshape(-1)
        sizes = counts.sum(axis=1)
        self.share: FloatArray = np.bincount(member, weights=sizes) / sizes.sum()
        self._of_class = _class_weights(member, owner, sizes / sizes.sum())
        self._constant = -np.log(self.distinct.sum(axis=1)[:, None] - np.arange(r)).sum(axis=1)
        # Terms of the likelihood by (code, earlier occurrences): row code * depth + earlier.
        self._depth = min(r, int(self.distinct.max()))
        left = self.distinct.T[:, None, :] - np.arange(self._depth)[None, :, None]
        with np.errstate(divide="ignore"):
            terms: FloatArray = np.log(np.maximum(left, 0))
        self._terms = terms.reshape(-1, len(self.distinct))

    @property
    def work(self) -> int:
        """Numbers added up for one sample."""
        return self.r * len(self.distinct)

    def largest_posterior(self, codes: IntArray) -> FloatArray:
        """max_s pi_s P_s(y) / sum_s pi_s P_s(y) of each sample of codes (B, r): (B,)."""
        return self._by_block(codes, whole=False)

    def sample(self, number: int, rng: np.random.Generator) -> IntArray:
        """Codes of r records of one row, the row drawn by its prior: (number, r)."""
        drawn = rng.multinomial(number, self.share)
        return np.concatenate(
            [
                _without_replacement(self.distinct[g], int(k), self.r, rng)
                for g, k in enumerate(drawn)
                if k
            ]
        )

    def every_sample(self) -> int:
        """How many different samples there are, regardless of order."""
        return comb(self.distinct.shape[1] + self.r - 1, self.r)

    def exact(self) -> float:
        """sum_y max_s pi_s P_s(y), by adding up every sample. For few codes and small r."""
        codes = combinations_with_replacement(range(self.distinct.shape[1]), self.r)
        return float(self._by_block(np.array(list(codes), np.int64), whole=True).sum())

    def _by_block(self, codes: IntArray, *, whole: bool) -> FloatArray:
        out = np.empty(len(codes))
        rows = max(_CELLS // max(len(self.distinct), self.r), 1)
        for first in range(0, len(codes), rows):
            # The order does not matter; sorted, equal codes are neighbours.
            piece = np.sort(codes[first : first + rows], axis=1)
            out[first : first + rows] = self._of_sorted(piece, whole=whole)
        return out

    def _of_sorted(self, codes: IntArray, *, whole: bool) -> FloatArray:
        """The largest posterior of sorted codes (B, r); `whole`: the largest joint probability."""
        again = codes[:, 1:] == codes[:, :-1]
        earlier = np.zeros((self.r, len(codes)), np.int64)
        for t in range(1, self.r):
            earlier[t] = (earlier[t - 1] + 1) * again[:, t - 1]
        earlier = earlier.T
        possible = (earlier < self._depth).all(axis=1)
        place = codes * self._depth + np.minimum(earlier, self._depth - 1)
        ends = np.arange(0, place.size + 1, self.r)
        picked = csr_array(
            (np.ones(place.size), place.reshape(-1), ends), shape=(len(codes), len(self._terms))
        )
        score: FloatArray = np.asarray(picked @ self._terms) + self._constant
        top = score.max(axis=1, keepdims=True)
        possible &= np.isfinite(top[:, 0])
        likelihood = np.exp(score - np.where(np.isfinite(top), top, 0.0))
        best: FloatArray = np.asarray((self._of_class @ likelihood.T).max(axis=0))
        if whole:
            # Each sample stands for r! / prod_j y_j! orders; the product is over 1 + earlier.
            orders = lgamma(self.r + 1) - np.log1p(earlier).sum(axis=1)
            return np.where(possible, best * np.exp(np.where(possible, top[:, 0], 0) + orders), 0.0)
        found: FloatArray = best / (likelihood @ self.share)
        return found


def _class_weights(member: IntArray, owner: IntArray, share: FloatArray) -> csr_array:
    """Priors of classes by distinct rows, (C, G), such that a class has the sum of its people.

    Of the classes that consist of one distinct row, only the likeliest can be the best guess there.
    """
    weights = csr_array((share, (owner, member)), shape=(owner.max() + 1, member.max() + 1))
    weights.sum_duplicates()
    single = np.flatnonzero(np.diff(weights.indptr) == 1)
    group, value = weights.indices[weights.indptr[single]], weights.data[weights.indptr[single]]
    order = np.lexsort((-value, group))
    first = np.unique(group[order], return_index=True)[1]
    several = np.flatnonzero(np.diff(weights.indptr) > 1)
    return weights[np.sort(np.concatenate([single[order[first]], several]))]


def _without_replacement(
    counts: IntArray, samples: int, r: int, rng: np.random.Generator
) -> IntArray:
    """Codes of r records of counts (N,), drawn without replacement: (samples, r).

    Floyd's algorithm: the i-th number is drawn below n - r + i + 1, and is n - r + i itself where
    the number drawn was chosen before. Every set of r is as likely; the order does not matter.
    """
    codes = np.repeat(np.arange(len(counts)), counts)
    out = np.empty((samples, r), np.int64)
    rows = max(_CELLS // r, 1)
    for first in range(0, samples, rows):
        part = out[first : first + rows]
        chosen = np.empty((r, len(part)), np.int32)
        for i in range(r):
            last = len(codes) - r + i
            drawn = rng.integers(0, last + 1, len(part), dtype=np.int32)
            again = (chosen[:i] == drawn).any(axis=0)
            chosen[i] = np.where(again, last, drawn)
        part[:] = codes[chosen.T]
    return out
