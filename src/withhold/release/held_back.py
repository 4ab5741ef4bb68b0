"""Rows that a release holds back: a random share of them, so that nobody can count who is missing.

A balanced release gives every class the same share of every code. Whoever knows the labels of all
other rows can therefore name the class that a code lacks (elimination). If a random part of the
rows never leaves, a class that lacks rows may simply have had them held back.

The balance is over *all* rows, and which of them leave depends on the key alone. So a row that
leaves is any row of its class with equal probability, and its code says as little as before.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError
from withhold.methods import Modifier
from withhold.methods.features.exact import ExactModifier
from withhold.release.keyed_order import Places
from withhold.release.wishes import Wishes

STAYS = -1  # the place of a row that is held back


def release_places(shuffled: Places, *, hold_back: float, same_order: bool) -> Places:
    """The place of each row in the release (n,), or STAYS: (n,) keyed random places -> (n,).

    The rows that come last in the keyed order are held back. With same_order no row is.
    """
    if same_order:
        return np.arange(len(shuffled))
    leave = len(shuffled) - round(hold_back * len(shuffled))
    places: Places = np.where(shuffled < leave, shuffled, STAYS)
    return places


def original_rows(places: Places) -> npt.NDArray[np.int64]:
    """The original row of each row of the release: (n,) places -> (m,)."""
    leaves = np.flatnonzero(places != STAYS)
    return leaves[np.argsort(places[leaves])]


def refuse_people(wishes: Wishes, *, people_draw: bool) -> None:
    """Refuse to hold rows back where people draw: nothing is proved of half a person."""
    if wishes.hold_back and people_draw:
        raise UserError(
            "rows cannot be held back where people draw (per=person); leave out --hold-back or"
            " per=person"
        )


def people_draw(modifier: Modifier) -> bool:
    """Whether a person draws one code for several rows."""
    return isinstance(modifier, ExactModifier) and modifier.units is not None
