"""Many clips of sound in one flat array, decoded batch by batch.

A clip is rows `offsets[i] : offsets[i+1]` of `values`. Keeping the stored encoding (8-bit mu-law,
16-bit) until a batch is asked for holds 24,000 spoken digits in 120 MB instead of 490 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from withhold.data.files import open_source
from withhold.errors import UserError, did_you_mean, listing

FloatArray = npt.NDArray[np.float32]

# y = u/127.5 - 1;  x = sign(y) (256^|y| - 1) / 255
_Y = np.arange(256) / 127.5 - 1
MULAW = (np.sign(_Y) * (256.0 ** np.abs(_Y) - 1) / 255).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Sounds:
    """Mono clips of one sample rate; `values` is float32, int16, or uint8 (mu-law)."""

    values: npt.NDArray[np.generic]
    offsets: npt.NDArray[np.int64]
    rate: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Samples per clip, (n,)."""
        return np.diff(self.offsets)

    @classmethod
    def from_waveforms(cls, waveforms: Sequence[FloatArray], rate: int) -> Sounds:
        """Gather float waveforms of any lengths."""
        lengths = np.fromiter((len(w) for w in waveforms), np.int64, len(waveforms))
        values = np.concatenate(waveforms).astype(np.float32) if len(lengths) else np.zeros(0)
        return cls(values, np.concatenate([[0], np.cumsum(lengths)]), rate)

    def rows(self, rows: npt.NDArray[np.int64]) -> Sounds:
        """The clips of `rows`, copied."""
        lengths = self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return Sounds(self.values[_ragged(self.offsets[rows], lengths)], offsets, self.rate)

    def padded(self, rows: npt.NDArray[np.int64]) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """Decoded clips, zero-padded at the end to the longest: (b, t) in [-1, 1], and lengths."""
        lengths = self.lengths[rows]
        out = np.zeros((len(rows), int(lengths.max(initial=1))), np.float32)
        for clip, start, length in zip(out, self.offsets[rows], lengths, strict=True):
            clip[:length] = self._decode(self.values[start : start + length])
        return out, lengths

    def _decode(self, values: npt.NDArray[np.generic]) -> FloatArray:
        if values.dtype == np.uint8:
            return np.take(MULAW, values.view(np.uint8))
        if values.dtype == np.int16:
            return values.astype(np.float32) / np.float32(32768)
        return values.astype(np.float32)


def read_sounds(
    path: str | Path, *, column: str | None = None, rate: int | None = None
) -> tuple[Sounds, pa.Table]:
    """Clips and every other column of a Parquet file that holds sound.

    The sound column is `audio…` unless named: binary (mu-law, one byte a sample), or a list of
    int16 or float samples. The rate is `rate`, or what the column's name says (`…_8khz`).
    """
    source = open_source(path)
    column = _sound_column(source.schema, column, source.name)
    rate = rate or _rate_in(column)
    if rate is None:
        raise UserError(
            f"{source.name}: the sample rate of '{column}' is not known; give it with --rate"
        )
    parts: list[npt.NDArray[np.generic]] = []
    lengths: list[npt.NDArray[np.int64]] = []
    others: list[pa.RecordBatch] = []
    for batch in source.batches():
        sound = batch.column(column)
        if sound.null_count:
            raise UserError(f"{source.name}: column '{column}' has records without sound (null)")
        parts.append(_flat(sound, source.name, column))
        lengths.append(_lengths(sound))
        others.append(batch.drop_columns([column]))
    sizes = np.concatenate(lengths)
    if (sizes == 0).any():
        row = int(np.argmax(sizes == 0))
        raise UserError(f"{source.name}: column '{column}' row {row} is an empty clip")
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Sounds(np.concatenate(parts), offsets, rate), pa.Table.from_batches(others)


def _sound_column(schema: pa.Schema, column: str | None, name: str) -> str:
    if column is not None:
        if column not in schema.names:
            raise UserError(
                f"column '{column}' is not in {name}{did_you_mean(column, schema.names)}"
            )
        return column
    found = [n for n in schema.names if n.startswith(("audio", "sound", "wave"))]
    if len(found) != 1:
        raise UserError(
            f"{name}: cannot tell which column holds the sound"
            f" (columns: {listing(schema.names)}); name it with --column"
        )
    return str(found[0])


def _rate_in(column: str) -> int | None:
    """The sample rate that a column's name states.

    >>> _rate_in("audio_mulaw_8khz")
    8000
    """
    import re

    found = re.search(r"(\d+(?:\.\d+)?)(k?)hz", column.lower())
    return round(float(found[1]) * (1000 if found[2] else 1)) if found else None


def _lengths(sound: pa.Array) -> npt.NDArray[np.int64]:
    binary = pa.types.is_binary(sound.type) or pa.types.is_large_binary(sound.type)
    sizes = pc.binary_length(sound) if binary else pc.list_value_length(sound)
    return sizes.to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]


def _flat(sound: pa.Array, name: str, column: str) -> npt.NDArray[np.generic]:
    if pa.types.is_binary(sound.type) or pa.types.is_large_binary(sound.type):
        return np.frombuffer(b"".join(sound.to_pylist()), np.uint8)
    kind = sound.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or _is_fixed(kind)):
        raise UserError(
            f"{name}: column '{column}' is {kind}; sound is binary (mu-law), "
            "or a list of int16 or float samples"
        )
    values = sound.flatten()
    if values.null_count:
        raise UserError(f"{name}: column '{column}' has missing samples (null)")
    if values.type == pa.int16():
        return values.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    if not pa.types.is_floating(values.type):
        raise UserError(f"{name}: column '{column}' holds {values.type}, not sound samples")
    flat = values.to_numpy(zero_copy_only=False).astype(np.float32)
    if not np.isfinite(flat).all():
        raise UserError(f"{name}: column '{column}' holds NaN or infinite samples")
    return flat  # type: ignore[no-any-return]


def _is_fixed(kind: pa.DataType) -> bool:
    return bool(pa.types.is_fixed_size_list(kind))


def _ragged(starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Indices of the concatenation of ranges starts[i] : starts[i] + lengths[i]."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    shifts: npt.NDArray[np.int64] = np.repeat(starts - (ends - lengths), lengths)
    return shifts + np.arange(total)
