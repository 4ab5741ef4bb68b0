"""Row order: what the position of a row in the released file reveals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from withhold.audit.attackers import Nearest, Prior, Trees
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.cross import cross_fit, folds_of
from withhold.audit.findings import ColumnRead
from withhold.audit.intervals import share
from withhold.audit.split import Rows
from withhold.records.attribute import Attribute

NAME = "(row order)"
MOST = 6_000
_BLOCKS = 4
_TURNS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 24, 32, 50, 60, 64, 100, 128, 256)


@dataclass(frozen=True, eq=False)
class Placed:
    """The row of each record in the released file (n,), and its label."""

    place: Rows
    attribute: Attribute

    def some(self, seed: int) -> Placed:
        """The records that the attack uses."""
        rows = _sample(self.place, self.attribute, seed)
        return Placed(self.place[rows], self.attribute.rows(rows))


def read_order(
    place: Rows, attribute: Attribute, *, floor: float, level: float, seed: int
) -> ColumnRead | None:
    """Guess an attribute from `place`, (n,): the row of each record in the released file.

    Attackers see the labels of the nearest other rows (sorted rows, runs), the position in the file
    (blocks), and the position modulo small numbers (rows in turn).
    """
    if attribute.multilabel:
        return None
    rows = _sample(place, attribute, seed)
    if len(rows) < 50:
        return None
    views = _views(place)
    said = cross_fit(
        views,
        attribute,
        folds_of(rows, None, seed),
        attackers=(Prior(), Nearest(), Trees(rounds=30, patience=4, budget=3e7)),
        seed=seed,
    )["best"]
    right = said.log_p.argmax(axis=1) == attribute.codes[said.rows]
    accuracy, ci, least = share(right, None, level=level)
    return ColumnRead(
        column=NAME,
        records=len(right),
        accuracy=accuracy,
        ci=ci,
        least=least,
        floor=max(floor, attribute.rows(said.rows).majority),
        attacker=said.by,
    )


def _sample(place: Rows, attribute: Attribute, seed: int) -> Rows:
    """Labelled records; if there are many, half at random and half from blocks of adjacent rows."""
    known = np.flatnonzero(attribute.known)
    if len(known) <= MOST:
        return known
    rng = np.random.default_rng([seed, 0x0DE4])
    ordered = known[np.argsort(place[known], kind="stable")]
    size = MOST // (2 * _BLOCKS)
    starts = rng.integers(0, len(ordered) - size, _BLOCKS)
    blocks = [ordered[s : s + size] for s in starts]
    return np.unique(np.concatenate([rng.permutation(known)[: MOST // 2], *blocks]))


def _views(place: Rows) -> dict[str, FloatArray]:
    at = (place / max(len(place) - 1, 1)).astype(np.float64)
    # Count from the middle of the file, so that float32 can tell adjacent rows apart.
    near = (place - len(place) // 2).astype(np.float32)[:, None]
    turns = np.stack([place % t for t in _TURNS], axis=1)
    standard = np.concatenate([at[:, None], turns], axis=1).astype(np.float32)
    return {"standard": standard, "reduced": near}
