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
_SMALL = 0.01  # share of the records that may be in classes too small for `each`


def code_numbers(
    classes: Classes, u: IntArray, config: ExactConfig, attributes: str, progress: Progress
) -> IntArray:
    """The number of codes of each preserved value, (U,).

    Each class needs `each` records per code. The smallest classes, with 1 % of the records
    together, are not counted: they would hold all others down. They are balanced all the same, but
    have fewer records per code.
    """
    values = int(u.max(initial=0)) + 1
    total = np.bincount(u, minlength=values)
    carried = np.empty(values, np.int64)
    for value in range(values):
        carried[value] = _carried(np.bincount(classes.codes[u == value]))
    wanted = np.maximum(carried // config.each, 1)
    if config.codes is None:
        if wanted.sum() > MOST:
            wanted = np.maximum(wanted * MOST // wanted.sum(), 1)
        if wanted.sum() < 2:
            wanted[int(total.argmax())] = 2
        _tell_small(classes, int(wanted.sum()), config, progress)
        return wanted
    share = np.maximum((config.codes * total) // max(int(total.sum()), 1), 1)
    over = np.flatnonzero(share > np.maximum(carried, 1))
    if len(over):
        most = int((np.maximum(carried, 1) * total.sum() / np.maximum(total, 1)).min())
        small = int(np.bincount(classes.codes).argmin())
        raise UserError(
            f"{config.codes:,} codes are too many: class '{shown(classes.names[small])}' of"
            f" {attributes} has {int(np.bincount(classes.codes).min()):,} records, and every class"
            f" needs at least one for each code; set codes to at most {max(most, 2):,}, or merge"
            " small classes (setting smallest)"
        )
    return share.astype(np.int64)


def _carried(sizes: IntArray) -> int:
    """The size of the smallest class that counts."""
    sizes = np.sort(sizes[sizes > 0])
    behind = np.cumsum(sizes) / max(int(sizes.sum()), 1)
    return int(sizes[int(np.searchsorted(behind, _SMALL, side="right"))]) if len(sizes) else 1


def _tell_small(classes: Classes, codes: int, config: ExactConfig, progress: Progress) -> None:
    sizes = np.bincount(classes.codes)
    few = np.flatnonzero(sizes < config.each)
    if len(few) and codes > 1:
        names = ", ".join(shown(classes.names[c]) for c in few[:3])
        progress.say(
            f"warning: {len(few):,} class{'es have' if len(few) > 1 else ' has'} fewer than"
            f" {config.each} records ({names}): their records get codes at random, so little of"
            " them is kept"
        )


def shown(name: str) -> str:
    """The name of a joint class as people write it: ["a", "b"] becomes a, b."""
    return ", ".join(json.loads(name)) if name.startswith("[") else name
