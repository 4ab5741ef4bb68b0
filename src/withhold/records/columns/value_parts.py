"""Encode values as an attacker would.

Numbers at full precision, in digits and in bits; text by hashed n-grams and words, length, shape.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

FloatArray = npt.NDArray[np.float64]
LONGEST = 2000  # characters of a text that are used
NGRAMS, WORDS = 192, 192


def number_parts(column: pa.ChunkedArray) -> FloatArray:
    """Parts of a column of numbers, (n, k); zero where a value is missing.

    The value as float32, its rounding error (in units of the last place), the rank, the decimal
    digits around the point, and every bit of the mantissa (for integers: the low 32 bits). A signal
    in any of these is a column that a tree or a linear model finds.
    """
    kind = column.type
    if pa.types.is_float16(kind):
        column = column.cast(pa.float32())
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    whole = pa.types.is_integer(column.type)
    filled = pc.fill_null(column, 0).to_numpy()
    if not whole:
        filled = np.where(np.isfinite(filled), filled, 0)
    value = filled.astype(np.float64)
    with np.errstate(over="ignore"):
        high = np.clip(value, -3e38, 3e38).astype(np.float32)
    low = (value - high) / np.spacing(np.maximum(np.abs(high), np.float32(1e-30)))
    parts = [high, np.clip(low, -1, 1), _rank(value), np.sign(value)]
    parts += _digits(value, range(6) if whole else range(-6, 3))
    parts += list(_bits(filled))
    return np.stack([np.asarray(p, np.float64) for p in parts], axis=1)


def _rank(value: FloatArray) -> FloatArray:
    """The rank of each value in sorted order, scaled to 0..1; equal values share one."""
    _, place = np.unique(value, return_inverse=True)
    return place / max(int(place.max(initial=0)), 1)


def _digits(value: FloatArray, powers: range) -> list[FloatArray]:
    """Decimal digits of |value| at 10**power, and how many decimals a value needs (up to six)."""
    size = np.abs(value)
    found = []
    for power in powers:
        # Half a unit of the seventh decimal, so that 0.3 (stored as 0.2999...) has the digit 3.
        found.append(np.floor(np.minimum(size, 1e15) / 10.0**power + 5e-8) % 10)
    if powers.start < 0:
        needed = np.zeros(len(value))
        for places in range(6):
            scaled = np.minimum(size, 1e9) * 10.0**places
            needed += np.abs(scaled - np.round(scaled)) > 1e-7 * np.maximum(scaled, 1)
        found.append(needed)
    return found


def _bits(filled: npt.NDArray[np.generic]) -> list[npt.NDArray[np.uint64]]:
    """Every bit of the mantissa; for integers, the low 32 bits of the magnitude."""
    if filled.dtype.kind in "iu":
        words, width = filled.astype(np.uint64), min(32, 8 * filled.dtype.itemsize)
    elif filled.dtype == np.float32:
        words, width = filled.view(np.uint32).astype(np.uint64), 23
    else:
        words, width = filled.astype(np.float64).view(np.uint64), 52
    return [(words >> np.uint64(i)) & np.uint64(1) for i in range(width)]


def text_parts(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Parts of texts, (n, k): counts of hashed character n-grams and words, and shape."""
    from sklearn.feature_extraction.text import HashingVectorizer

    cut = [t[:LONGEST].lower() for t in texts]
    shared = {"alternate_sign": False, "norm": None, "dtype": np.float32}
    grams = HashingVectorizer(
        analyzer="char_wb", ngram_range=(1, 3), n_features=NGRAMS, **shared
    ).transform(cut)
    words = HashingVectorizer(token_pattern=r"(?u)\b\w+\b", n_features=WORDS, **shared).transform(
        cut
    )
    shape = np.array(
        [
            [
                len(t),
                len(t.split()),
                sum(c.isdigit() for c in t),
                sum(c.isupper() for c in t),
                sum(not c.isalnum() for c in t),
                t != t.strip(),
            ]
            for t in (t[:LONGEST] for t in texts)
        ],
        np.float32,
    ).reshape(-1, 6)
    counts = [np.log1p(m.toarray()) for m in (grams, words)]
    return np.concatenate([*counts, shape], axis=1)
