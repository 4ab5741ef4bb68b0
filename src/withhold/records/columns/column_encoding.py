"""Encode any Arrow column as numbers, as an attacker would."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from withhold.records.arrow_kinds import is_bytes, is_list, is_number
from withhold.records.columns.value_parts import number_parts, text_parts
from withhold.records.plain import plain_column

FloatArray = npt.NDArray[np.float32]
Parts = npt.NDArray[Any]  # (n, k) numbers of any type
Codes = npt.NDArray[np.int64]
FREQUENT = 32  # commonest values, which get an indicator each
BUCKETS = 32  # hashed indicators of the other values
BINS = 6  # for a column of many values
OWN = 100  # a column with up to this many values is also tested value by value
LONGEST = 256  # numbers of a list that are encoded individually


@dataclass(frozen=True, eq=False)
class EncodedColumn:
    """An encoded column: `x` (n, k) float32, and `codes` (n,), which are equal for equal values.

    `kind` is one of "number", "category", "date", "true or false", "text", "bytes",
    "list of numbers", "nested" and "empty". A missing value has the code -1.
    """

    x: FloatArray
    kind: str
    codes: Codes

    def __len__(self) -> int:
        return len(self.x)

    @property
    def distinct(self) -> int:
        """How many different values there are, without missing ones."""
        return int(self.codes.max(initial=-1)) + 1

    def binned(self) -> Codes:
        """Codes of the values if there are few, otherwise of quantile bins; missing is a value."""
        if self.distinct <= 3 * BINS:
            return self.codes + 1
        ordered = np.sort(self.codes[self.codes >= 0])
        edges = ordered[(np.arange(1, BINS) * len(ordered)) // BINS]
        place: Codes = np.searchsorted(edges, self.codes, side="right") + 1
        return np.where(self.codes >= 0, place, 0)

    def looks(self) -> list[Codes]:
        """Codes to test: in bins and, for up to OWN values, also value by value.

        Bins show what neighbouring values share; the parity of a number shows only value by value.
        """
        own = [self.codes + 1] if 3 * BINS < self.distinct <= OWN else []
        return [self.binned(), *own]

    def rows(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> EncodedColumn:
        """The same column for some records."""
        _, codes = np.unique(np.append(self.codes[rows], -1), return_inverse=True)
        return EncodedColumn(self.x[rows], self.kind, codes[:-1].astype(np.int64) - 1)


def encode_column(column: pa.ChunkedArray, *, seed: int = 0) -> EncodedColumn:
    """Encode a column: its values, parts of its values, missingness and equality of values.

    The encoding does not use labels, so it can be made once for training and test records.
    """
    column = plain_column(column)
    if pa.types.is_interval(column.type):
        moments = [None if v is None else str(tuple(v)) for v in column.to_pylist()]
        column = pa.chunked_array([pa.array(moments, pa.string())])
    n, kind = len(column), column.type
    missing = column.is_null().to_numpy().astype(bool)
    if missing.all():
        return EncodedColumn(np.ones((n, 1), np.float32), "empty", np.full(n, -1, np.int64))
    if pa.types.is_nested(kind):
        return _nested(column, missing, seed)
    codes, values = _equality(column)
    shared = [missing[:, None], *_categories(codes, seed)]
    if pa.types.is_boolean(kind):
        name, parts = "true or false", [pc.fill_null(column, False).to_numpy().astype(float)]
    elif is_number(kind) or pa.types.is_decimal(kind):
        name, parts = "number", [number_parts(column)]
    elif pa.types.is_temporal(kind):
        name, parts = "date", [_of_values(_date_parts(values), codes)]
    elif is_bytes(kind):
        name, parts = "bytes", [_of_values(_byte_parts(values.to_pylist()), codes)]
    else:
        texts = [str(v) for v in values.to_pylist()]
        few = len(texts) <= max(FREQUENT, n // 20)
        name = "category" if few else "text"
        # If there are few values, their indicators contain all that the text could add.
        parts = [] if len(texts) <= FREQUENT else [_of_values(text_parts(texts), codes)]
    return EncodedColumn(_stack([*parts, *shared]), name, codes)


def _equality(column: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """The rank of each value among the sorted distinct values, -1 if missing.

    NaN does not count as missing: each of its bit patterns gets a code after the numbers.
    """
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())
    no_number = None
    if pa.types.is_floating(column.type):
        no_number = pc.is_nan(column).fill_null(False).to_numpy().astype(bool)
        bits = _nan_bits(column, no_number)
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    values = pc.unique(column).drop_null()
    values = values.take(pc.sort_indices(values))
    codes = pc.index_in(column, value_set=values).fill_null(-1).to_numpy()
    codes = codes.astype(np.int64)
    if no_number is not None and no_number.any():
        codes[no_number] = len(values) + np.unique(bits, return_inverse=True)[1]
    return codes, values


def _nan_bits(column: pa.ChunkedArray, no_number: npt.NDArray[np.bool_]) -> Codes:
    """The bits of the NaNs of a column."""
    # Filled with zero, so that no null becomes a NaN.
    found = pc.fill_null(column, 0).to_numpy()[no_number]
    bits: Codes = found.view(np.int32 if found.dtype == np.float32 else np.int64).astype(np.int64)
    return bits


def _categories(codes: Codes, seed: int) -> list[Parts]:
    """Rank in sorted order, frequency of the value, and indicators of values."""
    distinct = int(codes.max(initial=-1)) + 1
    counts = np.bincount(codes[codes >= 0], minlength=distinct)
    often = np.where(codes >= 0, counts[codes], (codes < 0).sum())
    place = np.where(codes >= 0, codes, -1) / max(distinct, 1)
    parts = [place[:, None], np.log1p(often)[:, None].astype(np.float64)]
    frequent = np.sort(np.argsort(-counts, kind="stable")[:FREQUENT])
    parts.append((codes[:, None] == frequent[None, :]).astype(np.float64))
    if distinct > FREQUENT:
        bucket = np.random.default_rng([seed, 0xC0DE]).integers(0, BUCKETS, distinct)
        rare = ~np.isin(codes, frequent) & (codes >= 0)
        hashed = np.where(rare, bucket[codes], -1)
        parts.append((hashed[:, None] == np.arange(BUCKETS)[None, :]).astype(np.float64))
    return parts


def _date_parts(values: pa.Array) -> Parts:
    """Parts of dates and times, (values, k): ordinal, year, month, day, weekday, hour, ..."""
    kind = values.type
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        width = pa.int32() if pa.types.is_time32(kind) else pa.int64()
        return number_parts(pa.chunked_array([values.cast(width)]))
    moments = values.cast(pa.timestamp("us")) if pa.types.is_date(kind) else values
    takes = [pc.year, pc.month, pc.day, pc.day_of_week, pc.day_of_year, pc.hour, pc.minute]
    takes += [pc.second, pc.millisecond, pc.microsecond, pc.nanosecond]
    parts = [take(moments).to_numpy(zero_copy_only=False)[:, None] for take in takes]
    ordinal = moments.cast(pa.timestamp(getattr(moments.type, "unit", "ns"))).cast(pa.int64())
    return np.concatenate([number_parts(pa.chunked_array([ordinal])), *parts], axis=1)


def _byte_parts(values: list[bytes]) -> Parts:
    """Length, first and last bytes, hash buckets and a histogram of bytes, (values, k)."""
    parts = np.zeros((len(values), 1 + 16 + 4 + BUCKETS + 16))
    for row, value in zip(parts, values, strict=True):
        row[0] = len(value)
        first, last = value[:16], value[-4:]
        row[1 : 1 + len(first)] = list(first)
        row[17 : 17 + len(last)] = list(last)
        row[21 + hashlib.blake2b(value, digest_size=1).digest()[0] % BUCKETS] = 1
        counts = np.bincount(np.frombuffer(value[:65536], np.uint8) // 16, minlength=16)
        row[21 + BUCKETS :] = counts / max(len(value), 1)
    return parts


def _nested(column: pa.ChunkedArray, missing: npt.NDArray[np.bool_], seed: int) -> EncodedColumn:
    """Encode lists of numbers by position, and any other nested value by its text."""
    whole = column.combine_chunks()
    texts = [None if v is None else repr(v) for v in column.to_pylist()]
    codes, values = _equality(pa.chunked_array([pa.array(texts, pa.string())]))
    shared = [missing[:, None], *_categories(codes, seed)]
    matrix = list_matrix(whole)
    if matrix is None:
        parts = _of_values(text_parts([str(v) for v in values.to_pylist()]), codes)
        return EncodedColumn(_stack([parts, *shared]), "nested", codes)
    lengths = pc.list_value_length(whole).fill_null(0).to_numpy(zero_copy_only=False)
    filled = np.nan_to_num(matrix, nan=0.0, posinf=0.0, neginf=0.0)
    size = np.maximum((~np.isnan(matrix)).sum(axis=1), 1)
    sums = np.stack([lengths, filled.sum(axis=1) / size, np.abs(filled).max(axis=1, initial=0)], 1)
    high = filled.astype(np.float32)
    looks = [high[:, :LONGEST], sums]
    if not np.array_equal(high, filled):  # what float32 rounds away
        looks.append(((filled - high) / np.spacing(np.abs(high)))[:, :LONGEST])
    return EncodedColumn(_stack([*looks, *shared]), "list of numbers", codes)


def list_matrix(array: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.float64] | None:
    """Lists of numbers as a matrix (n, longest), with NaN where a list is shorter or missing;
    None if the column does not contain lists of numbers."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    kind = array.type
    if not is_list(kind):
        return None
    inner = kind.value_type
    if pa.types.is_fixed_size_list(kind):
        array = array.cast(pa.list_(inner))
    if is_list(inner):
        flat = list_matrix(pc.list_flatten(array))
        outer = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
        if flat is None or len(set(outer.tolist())) != 1:
            return None
        return flat.reshape(len(array), -1)
    if not (is_number(inner) or pa.types.is_decimal(inner) or pa.types.is_boolean(inner)):
        return None
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    values = pc.list_flatten(array).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    matrix = np.full((len(array), int(lengths.max(initial=0))), np.nan)
    row = np.repeat(np.arange(len(array)), lengths)
    place = np.arange(len(values)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    matrix[row, place] = values
    return matrix


def _of_values(parts: Parts, codes: Codes) -> Parts:
    """Parts of each record, from the parts of the distinct values; zero if missing."""
    return np.where(codes[:, None] >= 0, parts[codes], 0.0)


def _stack(parts: list[Parts]) -> FloatArray:
    """The parts side by side, without constant columns."""
    columns = [p[:, None] if p.ndim == 1 else p for p in parts]
    x = np.concatenate(columns, axis=1)
    x = np.clip(np.nan_to_num(x), -3e38, 3e38).astype(np.float32)
    varies = (x != x[:1]).any(axis=0)
    return np.ascontiguousarray(x[:, varies] if varies.any() else x[:, :1])
