"""Groups of near codes, from fine to coarse.

The count of a class in a group of codes fluctuates less than in one code, so an attacker who knows
many labels may read from groups what single codes do not tell.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
MOST_CODES = 4096  # merged pair by pair; other codes join the nearest of these
FEWEST_GROUPS = 4
_SEED = 0x1E7E15


def code_levels(codes: npt.NDArray[np.floating]) -> list[IntArray]:
    """The group of each code vector (N, d) at every level: arrays (N,), fine to coarse.

    Columns are scaled to unit variance. Codes are merged bottom-up by Ward's criterion into G
    groups, for the powers of two G >= 4 below the number of distinct codes. What one of two groups
    lacks, the other has too much of, so two groups are balanced together by chance: elimination
    read 100 % from them in 5 % of worlds with two classes and no leak.
    """
    x, member = np.unique(_scaled(codes), axis=0, return_inverse=True)
    if len(x) <= FEWEST_GROUPS:
        return []
    # Imported here since it takes a third of a second.
    from scipy.cluster.hierarchy import fcluster, ward

    kept = np.random.default_rng(_SEED).permutation(len(x))[:MOST_CODES]
    nearest = _nearest(x, x[kept])[member.reshape(-1)]
    tree = ward(x[kept])
    found: list[IntArray] = []
    size = 1 << (len(kept) - 1).bit_length() - 1
    before = len(kept)
    while size >= FEWEST_GROUPS:
        group = fcluster(tree, size, criterion="maxclust")
        number = len(np.unique(group))
        if (
            FEWEST_GROUPS <= number < before
        ):  # equal distances may leave fewer groups than asked for
            found.append((group - 1).astype(np.int64)[nearest])
            before = number
        size //= 2
    return found


def _scaled(codes: npt.NDArray[np.floating]) -> FloatArray:
    """Columns with mean 0 and variance 1; missing values are the mean, constants are dropped."""
    x: FloatArray = np.where(np.isfinite(codes), codes, np.nan).astype(np.float64)
    known = np.isfinite(x)
    count = np.maximum(known.sum(axis=0), 1)
    x = np.where(known, x, 0.0)
    x = np.where(known, x - x.sum(axis=0) / count, 0.0)
    deviation = np.sqrt(np.square(x).mean(axis=0))
    varies = deviation > 1e-12 * (1 + np.abs(x).max(axis=0, initial=0.0))
    scaled: FloatArray = x[:, varies] / deviation[varies]
    return scaled


def _nearest(x: FloatArray, centres: FloatArray) -> IntArray:
    """The nearest centre of each row of x (n, d), in blocks: (n,)."""
    found = np.empty(len(x), np.int64)
    length = np.square(centres).sum(axis=1)
    rows = max(8_000_000 // len(centres), 1)
    for first in range(0, len(x), rows):
        far = length - 2 * x[first : first + rows] @ centres.T
        found[first : first + rows] = far.argmin(axis=1)
    return found
