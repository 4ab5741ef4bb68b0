"""Sharper distributions of a column within each code, with the same shares in the whole table.

A code whose members hold value v with share p_jv would draw it with that share. A row then agrees
with its record less often than it could, and two columns that go together are drawn apart. So

    q_jv = lambda_v p_jv^contrast / sum_w lambda_w p_jw^contrast,

with lambda such that sum_j n_j q_jv = sum_j n_j p_jv for every value v: n_j members of code j.
Every value keeps its share among all rows; no code draws a value that none of its members holds.
With contrast 1, q = p. The lambda are found by iterative proportional fitting ("raking"), which
converges since q = p meets the shares on the same support.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from withhold.records.tabular.column_shares import ColumnShares, Floats, Ints

_STEPS = 2000  # a sharp contrast needs many
_CLOSE = 1e-6  # share of the rows whose value may differ from the shares of the table
_TINY = 1e-300


def raked(shares: ColumnShares, members: Floats, *, contrast: float) -> ColumnShares:
    """The shares q. members: (codes,), how many records each code has, without the whole table.

    The last distribution, that of the whole table, stays as it is.
    """
    codes = len(shares.start) - 2  # the last one is the whole table
    inside = slice(0, int(shares.start[codes]))
    code = np.repeat(np.arange(codes, dtype=np.int64), np.diff(shares.start[: codes + 1]))
    begin = np.concatenate([[0.0], shares.end[inside][:-1]])
    begin[shares.start[:codes]] = np.arange(codes)
    p = np.maximum(shares.end[inside] - begin, 0.0)
    # A missing value is a value like any other: NaNs are equal here.
    value = np.unique(shares.low[inside], return_inverse=True)[1].reshape(-1)
    mass = members[code]
    wanted = np.bincount(value, mass * p)
    log_p = contrast * np.log(np.maximum(p, _TINY))
    rate = np.zeros(len(wanted))  # log lambda
    for _ in range(_STEPS):
        q = _normalised(log_p + rate[value], p, code, codes)
        found = np.bincount(value, mass * q)
        if np.abs(found - wanted).sum() <= 2 * _CLOSE * max(wanted.sum(), 1.0):
            break
        there = (wanted > 0) & (found > 0)
        step = np.log(np.where(there, wanted, 1.0) / np.where(there, found, 1.0))
        rate = rate + np.clip(step, -2, 2)
    end = shares.end.copy()
    upto = np.append(0.0, np.cumsum(q))
    end[inside] = code + upto[1:] - upto[shares.start[:codes]][code]
    end[shares.start[1 : codes + 1] - 1] = np.arange(1, codes + 1)  # without rounding errors
    return replace(shares, end=end)


def _normalised(logs: Floats, p: Floats, code: Ints, codes: int) -> Floats:
    """exp(logs), 0 where p is, with a sum of 1 in each code."""
    most = np.full(codes, -np.inf)
    np.maximum.at(most, code, logs)
    made = np.where(p > 0, np.exp(logs - most[code]), 0.0)
    total: Floats = made / np.maximum(np.bincount(code, made, minlength=codes), _TINY)[code]
    return total
