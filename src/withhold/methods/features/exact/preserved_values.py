"""Every preserved value needs people enough to hide among, and a code of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from withhold.core.errors import UserError
from withhold.methods.channel import IntArray
from withhold.methods.features.exact.code_numbers import shown

_STANDS = -1e3  # a code whose log share is lower does not belong to a value


def refuse_rare_values(
    names: Sequence[str], u: IntArray, people: IntArray, *, least: int, attributes: Sequence[str]
) -> None:
    """Refuse preserved values that fewer than `least` people hold.

    names: of the joint values; u (n,): the value of each record; people (n,): who they are. A
    preserved value can be read from every row that has it, so a rare one would name its people.
    """
    pairs = np.unique(np.stack([u, people]), axis=1)[0]
    behind = np.bincount(pairs, minlength=len(names))
    rare = np.flatnonzero(behind < least)
    if not attributes or not len(rare):
        return
    first = ", ".join(f"'{shown(names[i])}' by {behind[i]}" for i in rare[:3])
    more = f" and {len(rare) - 3:,} more" if len(rare) > 3 else ""
    raise UserError(
        f"values of {', '.join(attributes)} are held by fewer than {least} people ({first}{more}),"
        " and a preserved value leaves with every row; merge rare values into others, or preserve"
        " less"
    )


def with_every_value(kept: Tensor, log_shares: Tensor) -> Tensor:
    """The codes kept (N,), and the most frequent code of every value that would have none.

    log_shares: (U, N). Without a code, the records of a value would have nothing to draw.
    """
    bare = ~((log_shares > _STANDS) & kept).any(dim=1)
    found = kept.clone()
    found[log_shares[bare].argmax(dim=1)] = True
    return found
