"""E max_s of the rows left at a code, exactly, where U of n rows are left at random.

Let every row be left with probability p = U / n, independently, and condition on U rows in all.
The rows left of class s at code j are then binomial, and with c_j = sum_s c_sj

    P(max_s L_sj <= x) = sum_m A_x(m) Bin(n - c_j, p)(U - m) / Bin(n, p)(U),
    A_x = the convolution over s of Bin(c_sj, p) cut off above x,

and E max = sum_x P(max > x). Every term is positive, so nothing cancels. Codes with the same counts
up to the order of the classes have the same answer, which balanced releases have many of.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, xlog1py, xlogy

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
_WORK = 1_500_000_000  # products of the convolutions
_CELLS = 2_000_000  # of a block of codes


def exact_left(counts: IntArray, left: int) -> float | None:
    """E sum_j max_s L_sj / U of counts (K, N) with U = `left` rows left; None if too much work."""
    columns, times = np.unique(np.sort(counts, axis=0), axis=1, return_counts=True)
    total, most = columns.sum(axis=0), columns[-1]
    products = len(columns) * most.astype(float) ** 2 * total
    if float(products.sum()) > _WORK:
        return None
    n = int(counts.sum())
    order = np.argsort(most)  # codes of one block are cut off at the same count
    found, first = 0.0, 0
    while first < len(order):
        cells = most[order[first:]] * (np.maximum.accumulate(total[order[first:]]) + 1)
        size = max(int(np.searchsorted(cells * np.arange(1, len(cells) + 1), _CELLS)), 1)
        block = order[first : first + size]
        found += float(_expected_largest(columns[:, block], n, left) @ times[block])
        first += size
    return found / left


def _expected_largest(columns: IntArray, n: int, left: int) -> FloatArray:
    """E max_s L_s of each column (K, B), all of whose counts are below n: (B,)."""
    top, total = int(columns.max()), columns.sum(axis=0)
    p = left / n
    m = np.arange(int(total.max()) + 1)
    # joint[b, x, m]: m rows are left in all, none of the classes so far has more than x.
    joint = np.zeros((columns.shape[1], top, len(m)))
    joint[:, :, 0] = 1.0
    for counts in columns:
        if not counts.any():
            continue
        chance = np.exp(_log_binomial(counts[:, None], p, np.arange(counts.max() + 1)))
        before, joint = joint, joint * chance[:, 0, None, None]
        for a in range(1, int(counts.max()) + 1):
            joint[:, a:, a:] += chance[:, a, None, None] * before[:, a:, : len(m) - a]
    rest = _log_binomial(n - total[:, None], p, left - m) - _log_binomial(np.array(n), p, left)
    at_most = (joint * np.exp(rest)[:, None, :]).sum(axis=2)  # (B, top): P(max <= x), x < top
    expected: FloatArray = (1 - np.minimum(at_most, 1.0)).sum(axis=1)
    return expected


def _log_binomial(n: IntArray, p: float, k: IntArray | int) -> FloatArray:
    """log Bin(n, p)(k); -inf outside 0..n."""
    k = np.asarray(k)
    inside = (k >= 0) & (k <= n)
    safe = np.where(inside, k, 0)
    log_p = gammaln(n + 1) - gammaln(safe + 1) - gammaln(n - safe + 1)
    log_p = log_p + xlogy(safe, p) + xlog1py(n - safe, -p)
    found: FloatArray = np.where(inside, log_p, -np.inf)
    return found
