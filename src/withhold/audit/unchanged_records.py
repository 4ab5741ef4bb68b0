"""Released records that are (nearly) their originals: untouched, rounded, rescaled, barely noised.

A record counts as a copy if nearly every feature is within 1 % of the feature's spread, or 0.1 %
of its size, of the original, and no other original is as near. Changes that happen to be small are
not copies. In a smooth distribution of changes, there are no more changes below t than between t
and 8 t; `expected` is the latter share.

The features of one column of a table count as one: two rows of other categories agree in nearly
all of the many features that say which category it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.findings import Copies
from withhold.audit.intervals import shared, wilson
from withhold.audit.split import Split

_SPREAD, _SIZE = 1e-2, 1e-3
_FEATURES = 0.95  # share of the features (or columns) that must be within the tolerance
_LEAST = 0.005  # smallest share of copies that is a finding
_ROWS = 4000  # records of each part that are compared
_ASKED = 500  # records of each part that are looked up among all originals
_AMONG = 20_000
Rows = npt.NDArray[np.int64]


def copies(
    original: FloatArray,
    release: FloatArray,
    split: Split,
    *,
    seed: int,
    columns: Sequence[slice] = (),
) -> dict[str, Copies]:
    """How many released records of each part are copies of their originals. Both are (n, d).

    columns: the features that count as one each, in order; the others count by themselves.
    """
    rng = np.random.default_rng([seed, 0xC0B1])
    parts = {"train": split.train, "val": split.val, "test": split.test}
    sample = original[:: max(len(original) // 5000, 1)].astype(np.float64)
    spread = np.maximum(sample.std(axis=0), 1e-12)
    starts = _starts(original.shape[1], columns)
    found = {}
    for name, mask in parts.items():
        rows = rng.permutation(np.flatnonzero(mask))[:_ROWS]
        if not len(rows):
            continue
        moved = _moved(original[rows], release[rows], spread, starts)
        asked = rows[:_ASKED]
        own, alone = _looked_up(original, release, asked, spread, starts, rng)
        near = moved <= 1
        # If other originals are as near (few distinct records), equality proves nothing.
        distinct = float(alone.mean()) if len(alone) else 0.0
        n, count = len(rows), round(int(near.sum()) * distinct)
        expected = float(((moved > 1) & (moved <= 8)).mean())
        least = wilson(count, n, z=float(ndtri(shared(len(parts)))))[0]
        found[name] = Copies(
            records=n,
            copies=count,
            share=count / n,
            expected=expected,
            reidentified=float(own.mean()),
            found=least > max(expected, _LEAST),
        )
    return found


def _starts(width: int, columns: Sequence[slice]) -> Rows:
    """The first feature of everything that counts as one."""
    inner = {i for one in columns for i in range(one.start + 1, one.stop)}
    return np.array([i for i in range(width) if i not in inner], dtype=np.int64)


def _moved(
    one: FloatArray, two: FloatArray, spread: npt.NDArray[np.float64], starts: Rows
) -> npt.NDArray[np.float64]:
    """How far records moved, in tolerances: up to 1, nearly all columns are within tolerance."""
    wide = one.astype(np.float64)
    ratio = np.abs(wide - two) / (_SPREAD * spread + _SIZE * np.abs(wide))
    if len(starts) < ratio.shape[1]:
        ratio = np.maximum.reduceat(ratio, starts, axis=1)
    return np.quantile(ratio, _FEATURES, axis=1, method="higher")


def _looked_up(
    original: FloatArray,
    release: FloatArray,
    rows: Rows,
    spread: npt.NDArray[np.float64],
    starts: Rows,
    rng: np.random.Generator,
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Whether the nearest original of each release is its own, and whether no other equals it."""
    others = rng.permutation(len(original))[:_AMONG]
    others = np.unique(np.concatenate([others, rows]))
    scale = spread.astype(np.float32)
    among = original[others] / scale
    norms = np.square(among).sum(axis=1)
    own = np.zeros(len(rows), bool)
    alone = np.zeros(len(rows), bool)
    place = np.searchsorted(others, rows)
    for start in range(0, len(rows), 256):
        piece = slice(start, start + 256)
        near = norms - 2 * ((release[rows[piece]] / scale) @ among.T)
        own[piece] = near.argmin(axis=1) == place[piece]
        kin = norms - 2 * ((original[rows[piece]] / scale) @ among.T)
        kin[np.arange(len(kin)), place[piece]] = np.inf
        nearest = original[others[kin.argmin(axis=1)]]
        alone[piece] = _moved(original[rows[piece]], nearest, spread, starts) > 1
    return own, alone
