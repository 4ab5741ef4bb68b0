"""Encode numbers as an attacker would: at full precision, in digits and in bits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

FloatArray = npt.NDArray[np.float64]


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
