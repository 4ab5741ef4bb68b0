"""The worst of a codebook: the code that tells most, and the one with the fewest behind it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.certificate.bound import Table
from withhold.certificate.claims import Behind, Lift

IntArray = npt.NDArray[np.int64]
LEAST = 5.0  # records expected on a code before its lift is more than chance


def worst_lift(table: Table, classes: tuple[str, ...]) -> Lift:
    """max_{j,s} P(s | j) / P(s), over codes with `LEAST` expected records.

    If no code has that many, over the codes with the most.
    """
    share, counts = table.sum(axis=0), table.sum(axis=1)
    often = share >= min(LEAST, float(share.max()))
    there = counts > 0
    lift = np.zeros_like(table)
    np.divide(table, np.outer(counts, share), out=lift, where=np.outer(there, often))
    s, j = np.unravel_index(int(lift.argmax()), lift.shape)
    return Lift(
        code=int(j),
        of=classes[int(s)],
        lift=float(lift[s, j] * counts.sum()),
        share=float(share[j] / counts.sum()),
    )


def fewest_behind(draws: IntArray, sources: IntArray, of: str) -> tuple[Behind, int]:
    """The used code with the fewest distinct sources, and how many codes were used.

    draws and sources are (n,): the code of each record, and whose it is.
    """
    pairs = np.unique(np.stack([draws, sources], axis=1), axis=0)
    codes, counts = np.unique(pairs[:, 0], return_counts=True)
    least = int(counts.argmin())
    return Behind(code=int(codes[least]), number=int(counts[least]), of=of), len(codes)
