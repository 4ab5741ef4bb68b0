"""Samples of which records r codes of one class may have come from, with their weights.

Every record i of class s draws its code from its row W(. | i) of a plan. The codes y of r different
records of class s have

    P_s(y) = sum over r different records i_1 .. i_r of prod_k W(y_k | i_k) / (n_s)_r,

a permanent, with (n)_r = n (n - 1) .. (n - r + 1). Sequential importance sampling picks i_k among
the records that are not used yet, in proportion to W(y_k | i). Its weight

    w = prod_k (sum over unused i of W(y_k | i)) / (n_s)_r

is an unbiased estimate of P_s(y). Weights are given as logarithms of w / prod_k p_s(y_k), where
p_sj = sum_{i in s} W(j | i) / n_s is the share of code j in class s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
_TRIES = 20  # picks of a used record before the unused ones are listed


@dataclass(frozen=True)
class DrawnCodes:
    """Codes (m, r) of m samples, and the records (m, r) of classes (m,) that they came from."""

    codes: IntArray
    classes: IntArray
    records: IntArray


class PlanCodes:
    """A plan w (n, N) and the classes s (n,), each of 0 .. K - 1 with at least r records.

    sizes: (K,), n_s. prior: (K,), n_s / n. shares: (K, N), p_sj.
    """

    def __init__(self, w: npt.NDArray[np.floating], s: IntArray, r: int) -> None:
        self.r = r
        self.sizes: IntArray = np.bincount(s)
        self.prior: FloatArray = self.sizes / len(s)
        self._first = np.cumsum(self.sizes) - self.sizes
        # One row a code, records sorted by class: a step reads few rows, which stay in the cache.
        self._columns = np.ascontiguousarray(w[np.argsort(s, kind="stable")].T, dtype=np.float32)
        self._columns /= self._columns.sum(axis=0)
        self._mass: FloatArray = np.add.reduceat(
            self._columns, self._first, axis=1, dtype=np.float64
        )  # (N, K)
        self.shares: FloatArray = (self._mass / self.sizes).T
        self._cumulated = self._cumulate().reshape(-1)
        self._constant: FloatArray = -np.log1p(-np.arange(r) / self.sizes[:, None]).sum(axis=1)

    @property
    def cells(self) -> int:
        """n N, the size of the plan."""
        return self._columns.size

    def largest_weight(self) -> FloatArray:
        """A number for every class that no log weight exceeds: (K,).

        k used records take at least k min_i W(j | i) of the mass of code j. With a the smallest
        n_s min_i W(j | i) / M_sj over the codes, the weight is at most
        prod_k (1 - a k / n_s) / (1 - k / n_s), which is 1 where all rows of a class are equal.
        """
        least = np.minimum.reduceat(self._columns, self._first, axis=1)
        used = self._mass > 0
        ratio = np.where(used, least * self.sizes / np.where(used, self._mass, 1.0), 1.0)
        a = np.minimum(ratio.min(axis=0), 1.0)[:, None]
        k = np.arange(self.r)
        found: FloatArray = np.log1p(-a * k / self.sizes[:, None]).sum(axis=1) + self._constant
        return found

    def draw(self, number: int, rng: np.random.Generator) -> DrawnCodes:
        """`number` times the codes of r different records of one class, drawn by its prior."""
        classes = rng.choice(len(self.sizes), size=number, p=self.prior)
        records = np.empty((number, self.r), np.int64)
        codes = np.empty_like(records)
        for m, c in enumerate(classes):
            records[m] = rng.choice(int(self.sizes[c]), self.r, replace=False) + self._first[c]
            rows = np.cumsum(self._columns[:, records[m]], axis=0, dtype=np.float64)
            codes[m] = (rows <= rng.random(self.r) * rows[-1]).sum(axis=0)
        return DrawnCodes(codes, classes, records)

    def draw_with_replacement(self, number: int, rng: np.random.Generator) -> IntArray:
        """Codes (number, r) from q(y) = sum_s pi_s prod_k p_s(y_k)."""
        classes = rng.choice(len(self.sizes), size=number, p=self.prior)
        rows = np.cumsum(self.shares, axis=1)
        codes = np.empty((number, self.r), np.int64)
        for m, c in enumerate(classes):
            wanted = rng.random(self.r) * rows[c, -1]
            codes[m] = np.searchsorted(rows[c], wanted, side="right")
        return codes

    def log_shares(self, codes: IntArray) -> FloatArray:
        """log(pi_s prod_k p_s(y_k)) of every class: codes (m, r) -> (m, K)."""
        with np.errstate(divide="ignore"):
            terms = np.log(self.shares).T
        found: FloatArray = terms[codes].sum(axis=1) + np.log(self.prior)
        return found

    def log_weights(
        self,
        codes: IntArray,
        among: IntArray,
        *,
        number: int,
        rng: np.random.Generator,
        truth: IntArray | None = None,
    ) -> FloatArray:
        """`number` log weights of codes (m, r) for the classes (m, G) of each: (m, G, number).

        With `truth` (m, r), the first sample of the first class is the records of these codes.
        """
        m, n = len(codes), self._columns.shape[1]
        shape = (*among.shape, number)
        flat = self._columns.reshape(-1)
        classes = np.repeat(among.reshape(-1), number)
        used = np.empty((self.r, len(classes)), np.int64)
        total = self._constant[classes]
        true = np.arange(m) * (len(classes) // m)
        for k in range(self.r):
            code = np.repeat(codes[:, k], len(classes) // m)
            mass = self._mass[code, classes]
            left = mass - flat.take(used[:k] + code * n).sum(axis=0, dtype=np.float64)
            pick = self._pick(code, classes, rng)
            if truth is not None:
                pick[true] = truth[:, k]
                # The record of the code is unused, so rounding may not leave less than it has.
                left[true] = np.maximum(left[true], flat[pick[true] + code[true] * n])
            again = np.flatnonzero((used[:k] == pick).any(axis=0) & np.isfinite(total))
            for _ in range(_TRIES):
                if not len(again):
                    break
                pick[again] = self._pick(code[again], classes[again], rng)
                again = again[(used[:k, again] == pick[again]).any(axis=0)]
            for b in again:
                pick[b], left[b] = self._pick_unused(code[b], classes[b], used[:k, b], rng)
            used[k] = pick
            possible = (left > 0) & (mass > 0)
            share = np.where(possible, left, 1.0) / np.where(possible, mass, 1.0)
            total += np.where(possible, np.log(share), -np.inf)
        return total.reshape(shape)

    def _pick(self, code: IntArray, classes: IntArray, rng: np.random.Generator) -> IntArray:
        """A record of each class in proportion to W(code | i): (b,), (b,) -> (b,)."""
        n, k_classes = self._columns.shape[1], len(self.sizes)
        wanted = code * k_classes + classes + rng.random(len(code))
        found = np.searchsorted(self._cumulated, wanted, side="right") - code * n
        # Rounding of `wanted` may point beside the class.
        first = self._first[classes]
        inside: IntArray = np.minimum(np.maximum(found, first), first + self.sizes[classes] - 1)
        return inside

    def _pick_unused(
        self, code: int, c: int, used: IntArray, rng: np.random.Generator
    ) -> tuple[int, float]:
        """A record from the list of unused ones, and their mass: where little of it is left."""
        start = int(self._first[c])
        rest = self._columns[code, start : start + self.sizes[c]].astype(np.float64)
        rest[used - start] = 0.0
        cumulated = np.cumsum(rest)
        found = int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
        return start + min(found, len(rest) - 1), float(cumulated[-1])

    def _cumulate(self) -> FloatArray:
        """(N, n): class c of code j rises from j K + c by 1, in proportion to W(j | i)."""
        found = np.empty(self._columns.shape)
        codes = np.arange(len(found))[:, None] * len(self.sizes)
        for c, (start, size) in enumerate(zip(self._first, self.sizes, strict=True)):
            block = found[:, start : start + size]
            np.cumsum(self._columns[:, start : start + size], axis=1, out=block)
            block /= np.maximum(block[:, -1:], np.finfo(float).tiny)
            block += codes + c
        return found
