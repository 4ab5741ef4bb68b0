"""Tests of independence with p-values that are valid for classes of any size."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
MANY = 100_000  # with more cells, values that occur once are skipped
LOOKED_AT = 200  # cells, the most surprising ones, for which the p-value is computed
SHUFFLES = 300


def chance_of_cells(value: Codes, y: Codes, level: float) -> float:
    """The p-value of the most surprising cell of values by classes (Fisher's exact test).

    value, y: (n,). If they are independent, a cell is hypergeometric given its margins. So a value
    that 20 of 3,000 records have, half of them of a class of 20, is found. The p-value is corrected
    for the number of cells that could be significant at `level` at all (Tarone 1990, Biometrics 46,
    515), so compare it with `level`.
    """
    count, row, column, n = _cells(value, y)
    if not len(count):
        return 1.0
    highest, lowest = np.minimum(row, column), np.maximum(0, row + column - n)
    ends = np.concatenate([_log_pmf(highest, row, column, n), _log_pmf(lowest, row, column, n)])
    tried = _able_to_surprise(np.exp(ends), level)
    expected = row * column / n
    spread = np.sqrt(expected * (1 - row / n) * (1 - column / n)) + 1e-12
    first = np.argsort(-np.abs(count - expected) / spread)[:LOOKED_AT]
    best = min(fisher(int(count[i]), int(row[i]), int(column[i]), n) for i in first)
    return float(min(best * tried, 1.0))


def fisher(count: int, row: int, column: int, n: int) -> float:
    """The one-sided p-value of a cell: a count at least as far from independence."""
    if count * n >= row * column:
        able = np.arange(count, min(row, column) + 1)
    else:
        able = np.arange(max(0, row + column - n), count + 1)
    some = np.full(len(able), row), np.full(len(able), column)
    return float(min(np.exp(_log_pmf(able, *some, n)).sum(), 1.0))


def chance_of_squares(
    value: Codes, y: Codes, stratum: Codes | None = None, *, level: float
) -> float:
    """The p-value of Pearson's chi-squared, summed over strata, given all margins.

    value, y, stratum: (n,). Within each stratum, mean and variance of chi-squared under
    independence are exact (Haldane 1940, Biometrika 31, 346), even for tables of mostly empty
    cells. The sum is compared with the gamma distribution that has their sums. A p-value below
    `level` also requires that no shuffle of y within the strata gives as large a sum.
    """
    from scipy.stats import gamma

    stratum = np.zeros(len(y), np.int64) if stratum is None else stratum
    stratum, y, value = (np.unique(v, return_inverse=True)[1] for v in (stratum, y, value))
    squares, mean, variance = _squares(value, y, stratum)
    if variance <= 0 or squares <= mean:
        return 1.0
    chance = float(gamma.sf(squares, mean**2 / variance, scale=variance / mean))
    if chance >= level:
        return chance
    rng = np.random.default_rng([0, 0x5A0])
    by_stratum = np.argsort(stratum, kind="stable")
    mixed = np.empty_like(y)
    for _ in range(SHUFFLES):
        mixed[by_stratum] = y[np.lexsort((rng.random(len(y)), stratum))]
        if _squares(value, mixed, stratum)[0] >= squares:
            return max(chance, 1 / SHUFFLES)
    return chance


def _cells(value: Codes, y: Codes) -> tuple[Codes, Codes, Codes, int]:
    """The non-redundant cells of the table: counts, row and column margins, and n."""
    _, value = np.unique(value, return_inverse=True)
    _, y = np.unique(y, return_inverse=True)
    values, k, n = int(value.max(initial=-1)) + 1, int(y.max(initial=-1)) + 1, len(y)
    if values < 2 or k < 2:
        none = np.empty(0, np.int64)
        return none, none, none, n
    row, column = np.bincount(value), np.bincount(y)
    # With two values, or two classes, the second is redundant.
    rows = np.arange(1 if values == 2 else 0, values)
    if values * k > MANY:
        rows = rows[row[rows] > 1]
    columns = np.arange(1 if k == 2 else 0, k)
    place = np.full(values, -1, np.int64)
    place[rows] = np.arange(len(rows))
    there = place[value] >= 0
    table = np.bincount(place[value[there]] * k + y[there], minlength=len(rows) * k)
    table = table.reshape(len(rows), k)[:, columns]
    wide = np.broadcast_to(row[rows][:, None], table.shape)
    high = np.broadcast_to(column[columns][None, :], table.shape)
    return table.ravel(), wide.ravel(), high.ravel(), n


def _squares(value: Codes, y: Codes, stratum: Codes) -> tuple[float, float, float]:
    """Chi-squared summed over strata of at least four records, with its mean and variance."""
    a, b = _Margins(stratum, value), _Margins(stratum, y)
    n = np.bincount(stratum).astype(np.float64)
    rows, columns = a.different, b.different
    use = (n >= 4) & (rows > 1) & (columns > 1)
    cells, cell = np.unique(a.place * len(b.count) + b.place, return_inverse=True)
    count = np.bincount(cell).astype(np.float64)
    row, column = cells // len(b.count), cells % len(b.count)
    parts = count**2 / (a.count[row] * b.count[column])
    squares = n * (np.bincount(a.stratum[row], parts, minlength=len(n)) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = n / (n - 1) * (rows - 1) * (columns - 1)
        nu_a, sigma_a = _moments(n, rows, a.inverse)
        nu_b, sigma_b = _moments(n, columns, b.inverse)
        variance = 2 * n / (n - 3) * (nu_a - sigma_a) * (nu_b - sigma_b)
        variance += n**2 / (n - 1) * sigma_a * sigma_b
    return float(squares[use].sum()), float(mean[use].sum()), float(variance[use].sum())


def _moments(
    n: FloatArray, different: FloatArray, inverse: FloatArray
) -> tuple[FloatArray, FloatArray]:
    nu = (n - different) * (different - 1) / (n - 1)
    return nu, (n * inverse - different**2) / (n - 2)


class _Margins:
    """How often each value occurs in each stratum.

    place: (n,) the index of each record's pair (stratum, value) among those that occur; count,
    stratum: of each pair; different: the number of values in each stratum; inverse: the sum of
    1 / count in each stratum.
    """

    def __init__(self, stratum: Codes, value: Codes) -> None:
        most = int(value.max(initial=0)) + 1
        pairs, self.place = np.unique(stratum * most + value, return_inverse=True)
        self.count = np.bincount(self.place).astype(np.float64)
        self.stratum = pairs // most
        strata = int(stratum.max(initial=-1)) + 1
        self.different = np.bincount(self.stratum, minlength=strata).astype(np.float64)
        inverse = np.bincount(self.stratum, 1 / self.count, minlength=strata)
        self.inverse = inverse.astype(np.float64)


def _log_pmf(count: Codes, row: Codes, column: Codes, n: int) -> FloatArray:
    """The log-probability of a cell's count, hypergeometric given its margins."""
    from scipy.special import gammaln

    def choose(a: Codes | int, b: Codes) -> FloatArray:
        found: FloatArray = gammaln(np.add(a, 1)) - gammaln(b + 1) - gammaln(a - b + 1)
        return found

    return choose(column, count) + choose(n - column, row - count) - choose(n, row)


def _able_to_surprise(least: FloatArray, level: float) -> int:
    """The smallest K such that at most K cells can have a p-value below level / K."""
    k = np.arange(1, len(least) + 1)
    able = np.searchsorted(np.sort(least), level / k, side="right") <= k
    return int(k[able.argmax()]) if able.any() else len(least)
