"""How many codes the records carry."""

from __future__ import annotations

import json

import numpy as np

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.methods.channel import IntArray
from withhold.methods.features.codebook.cells import Classes
from withhold.methods.features.exact.config import ExactConfig

MOST = 2048  # codes where the user sets no number
_FEW = 0.05  # share of the records in a class that is too small to decide for all others
_SMALL = 0.01  # share of the records that may be in classes too small for `each`


def code_numbers(
    classes: Classes,
    u: IntArray,
    config: ExactConfig,
    attributes: str,
    progress: Progress,
    *,
    of: str = "records",
) -> IntArray:
    """The number of codes of each preserved value, (U,). of: what draws the codes, for messages.

    Each class needs `each` records per code. The smallest classes, with 1 % of the records
    together, are not counted: they would hold all others down. They are balanced all the same, but
    have fewer records per code.
    """
    values = int(u.max(initial=0)) + 1
    total = np.bincount(u, minlength=values)
    carried = _carried_by(classes.codes, u, values)
    if config.codes is None:
        wanted = _wanted(carried, total, config.each)
        _tell_small(classes, int(wanted.sum()), config, progress, of)
        _tell_narrow(classes, u, int(wanted.sum()), config, attributes, progress, of)
        return wanted
    share = np.maximum((config.codes * total) // max(int(total.sum()), 1), 1)
    over = np.flatnonzero(share > np.maximum(carried, 1))
    if len(over):
        most = int((np.maximum(carried, 1) * total.sum() / np.maximum(total, 1)).min())
        small = int(np.bincount(classes.codes).argmin())
        raise UserError(
            f"{config.codes:,} codes are too many: class '{shown(classes.names[small])}' of"
            f" {attributes} has {int(np.bincount(classes.codes).min()):,} {of}, and every class"
            f" needs at least one for each code; set codes to at most {max(most, 2):,}, or merge"
            " small classes (setting smallest)"
        )
    return share.astype(np.int64)


def _wanted(carried: IntArray, total: IntArray, each: int) -> IntArray:
    wanted: IntArray = np.maximum(carried // each, 1)
    if wanted.sum() > MOST:
        wanted = np.maximum(wanted * MOST // wanted.sum(), 1)
    if wanted.sum() < 2:
        wanted[int(total.argmax())] = 2
    return wanted


def _carried_by(codes: IntArray, u: IntArray, values: int) -> IntArray:
    """The size of the smallest class that counts, among the records of each value, (U,)."""
    sizes = [_carried(np.bincount(codes[u == value])) for value in range(values)]
    return np.array(sizes, np.int64)


def _carried(sizes: IntArray) -> int:
    """The size of the smallest class that counts."""
    sizes = np.sort(sizes[sizes > 0])
    behind = np.cumsum(sizes) / max(int(sizes.sum()), 1)
    return int(sizes[int(np.searchsorted(behind, _SMALL, side="right"))]) if len(sizes) else 1


def _tell_small(
    classes: Classes, codes: int, config: ExactConfig, progress: Progress, of: str
) -> None:
    sizes = np.bincount(classes.codes)
    few = np.flatnonzero(sizes < config.each)
    if len(few) and codes > 1:
        names = ", ".join(shown(classes.names[c]) for c in few[:3])
        progress.say(
            f"warning: {len(few):,} class{'es have' if len(few) > 1 else ' has'} fewer than"
            f" {config.each} {of} ({names}): their records get codes at random, so little of"
            " them is kept"
        )


def _tell_narrow(
    classes: Classes,
    u: IntArray,
    codes: int,
    config: ExactConfig,
    attributes: str,
    progress: Progress,
    of: str,
) -> None:
    """Warn of one small class that holds all others down to far fewer codes."""
    sizes = np.bincount(classes.codes)
    counted = np.flatnonzero(sizes >= _carried(sizes))
    small = int(counted[sizes[counted].argmin()])
    if sizes[small] > _FEW * len(u) or len(sizes) < 3:
        return
    others = classes.codes != small
    values = int(u.max(initial=0)) + 1
    carried = _carried_by(classes.codes[others], u[others], values)
    without = int(_wanted(carried, np.bincount(u, minlength=values), config.each).sum())
    if without >= 2 * codes:
        progress.say(
            f"warning: class '{shown(classes.names[small])}' of {attributes} has"
            f" {sizes[small]:,} of {len(u):,} {of}, so there are only {codes:,} codes, and"
            f" little of the other columns is kept: without it there would be {without:,}; merge"
            " it into another class, or drop its records"
        )


def shown(name: str) -> str:
    """The name of a joint class as people write it: ["a", "b"] becomes a, b."""
    return ", ".join(json.loads(name)) if name.startswith("[") else name
