"""Stratified and grouped splits into train, val and test, from a seed."""

from __future__ import annotations

import operator
import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.records.arrow_kinds import is_number

SPLIT = "split"  # the column of the parts
PARTS = ("train", "val", "test")


def assign_parts(
    n: int,
    *,
    fractions: tuple[float, float, float] = (0.6, 0.2, 0.2),
    strata: npt.NDArray[np.int64] | None = None,
    groups: npt.NDArray[np.int64] | None = None,
    seed: int = 0,
) -> npt.NDArray[np.str_]:
    """The part of each record, (n,) of 'train', 'val' or 'test'.

    Within each stratum the parts have the wanted shares, up to a record or two. With `groups`, no
    group is divided: groups are assigned in random order, large ones first, each to the part
    (within its commonest stratum) that is furthest below its share.
    """
    share = np.asarray(fractions, float)
    if not (share.min() >= 0 and abs(share.sum() - 1) <= 1e-6):
        raise UserError(f"split fractions {fractions} must be at least 0 and sum to 1")
    rng = np.random.default_rng([seed, 0x5711])
    strata = np.zeros(n, np.int64) if strata is None else strata
    if groups is not None:
        return _deal_groups(strata, groups, share, rng)
    # Put the strata one after the other, each in random order, and assign parts evenly along this
    # order. Any interval, and so any stratum, then has the shares up to a record or two, and so
    # does the whole, however small the strata are.
    order = np.lexsort((rng.random(n), strata))
    dealt = np.full(n, "test", dtype="<U5")
    train = _evenly(n, share[0], rng)
    dealt[train] = "train"
    rest = np.flatnonzero(~train)
    dealt[rest[_evenly(len(rest), share[1] / max(share[1] + share[2], 1e-12), rng)]] = "val"
    out = np.empty_like(dealt)
    out[order] = dealt
    return out


def _evenly(n: int, share: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Mark `share` of n places as evenly as possible: m * share, up to one, of any m in a row."""
    marks: npt.NDArray[np.bool_] = np.diff(np.floor(np.arange(n + 1) * share + rng.random())) > 0
    return marks


_COMPARE = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}


def column_of(condition: str) -> str:
    """The column that a condition tests."""
    return _terms(condition)[0]


def _terms(condition: str) -> tuple[str, str, str]:
    match = re.fullmatch(r"\s*(.+?)\s*(>=|<=|!=|==|>|<|=)\s*([^<>=].*?)\s*", condition)
    if match is None:
        raise UserError(f"'{condition}' is not COLUMN OP VALUE; write it like \"take>=30\"")
    column, op, wanted = match.groups()
    return column, op, wanted


def records_where(table: pa.Table, condition: str, name: str) -> npt.NDArray[np.bool_]:
    """Which records satisfy `COLUMN OP VALUE`, with OP one of = == != < <= > >=; null never does.

    Compares as numbers if the column is numeric, otherwise as text.
    """
    column, op, wanted = _terms(condition)
    if column not in table.column_names:
        known = table.column_names
        hint = did_you_mean(column, known) or f" (columns: {listing(known)})"
        raise UserError(f"column '{column}' is not in {name}{hint}")
    values = table[column].to_pylist()
    numeric = is_number(table[column].type)
    try:
        against = float(wanted) if numeric else wanted
    except ValueError as error:
        raise UserError(
            f"column '{column}' is numeric; '{wanted}' in '{condition}' is not a number"
        ) from error
    compare = _COMPARE[op]
    held = (v is not None and compare(v if numeric else str(v), against) for v in values)
    return np.fromiter(held, bool, len(values))


def _deal_groups(
    strata: npt.NDArray[np.int64],
    groups: npt.NDArray[np.int64],
    share: npt.NDArray[np.float64],
    rng: np.random.Generator,
) -> npt.NDArray[np.str_]:
    names, member = np.unique(groups, return_inverse=True)
    sizes = np.bincount(member)
    levels, stratum = np.unique(strata, return_inverse=True)
    table = np.zeros((len(names), len(levels)), np.int64)
    np.add.at(table, (member, stratum), 1)
    home = table.argmax(axis=1)
    filled = np.zeros((len(levels), len(PARTS)))
    chosen = np.empty(len(names), np.int64)
    # Large groups first, so that the small ones can even out the shares.
    for g in np.lexsort((rng.random(len(names)), -sizes)):
        row = filled[home[g]]
        lack = share * (row.sum() + sizes[g]) - row
        lack[share == 0] = -np.inf
        chosen[g] = int(lack.argmax())
        row[chosen[g]] += sizes[g]
    return np.asarray(PARTS)[chosen[member]]
