"""Stratified and grouped splits into train, val and test, from a seed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.errors import UserError

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

    Within each stratum the parts have the wanted shares, up to a record or two. With `groups`, a
    group is never divided: groups are dealt out in random order, each to the part (within its
    commonest stratum) that is furthest below its share.
    """
    share = np.asarray(fractions, float)
    if share.min() < 0 or abs(share.sum() - 1) > 1e-6:
        raise UserError(f"split fractions {fractions} must be at least 0 and sum to 1")
    rng = np.random.default_rng([seed, 0x5711])
    strata = np.zeros(n, np.int64) if strata is None else strata
    if groups is not None:
        return _deal_groups(strata, groups, share, rng)
    # Walk through the strata one after the other, each in random order, and let a golden-ratio
    # sequence choose the part: any stretch of it, so any stratum, holds the shares up to a record
    # or two, and the whole does too, however small the strata are.
    order = np.lexsort((rng.random(n), strata))
    spread = (np.arange(n) + rng.random()) * 0.6180339887498949 % 1.0
    out = np.empty(n, dtype="<U5")
    out[order] = np.asarray(PARTS)[np.searchsorted(np.cumsum(share)[:-1], spread, side="right")]
    return out


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
    # Large groups first, so that the small ones can even out what the large ones left.
    for g in np.lexsort((rng.random(len(names)), -sizes)):
        row = filled[home[g]]
        lack = share * (row.sum() + sizes[g]) - row
        lack[share == 0] = -np.inf
        chosen[g] = int(lack.argmax())
        row[chosen[g]] += sizes[g]
    return np.asarray(PARTS)[chosen[member]]
