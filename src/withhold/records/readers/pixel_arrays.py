"""Images or clips as one array of an npz file: (n, h, w), (n, h, w, 3) or (n, t, h, w, 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.core.safe_read import file_sha256, open_regular
from withhold.records.readers.collection import Item, LabelTable
from withhold.records.readers.npz_source import stored_arrays
from withhold.records.readers.source import one_line
from withhold.records.samples import ByteArray, Clip, Kind, Picture


@dataclass(frozen=True, eq=False)
class PixelArrays(LabelTable):
    """8-bit pixels in memory, and the other arrays of the same length as labels."""

    path: Path
    kind: Kind
    column: str
    pixels: ByteArray
    table: pa.Table

    @classmethod
    def read(cls, path: Path, kind: Kind, *, column: str | None = None) -> PixelArrays:
        """Read an npz. The pixels are the array `column`, or the only one that can be pixels."""
        dimensions = {"image": (3, 4), "clip": (5,)}.get(kind)
        if dimensions is None:
            raise UserError(f"{path.name}: an npz has images or clips, not {kind}s; use Parquet")
        arrays = _load(path)
        if column is not None and column not in arrays:
            raise UserError(f"array '{column}' is not in {path.name}{did_you_mean(column, arrays)}")
        likely = [n for n, a in arrays.items() if a.ndim in dimensions and a.dtype == np.uint8]
        if column is None and len(likely) != 1:
            raise UserError(
                f"{path.name}: cannot find the array with the {kind}s (bytes, in"
                f" {' or '.join(map(str, dimensions))} dimensions; arrays: {listing(arrays)});"
                " name it with --column"
            )
        column = column or likely[0]
        pixels = arrays[column]
        colour = pixels.ndim == max(dimensions)
        if pixels.ndim not in dimensions or pixels.dtype != np.uint8:
            raise UserError(
                f"{path.name}: array '{column}' is {pixels.dtype} in {pixels.ndim} dimensions;"
                f" {kind}s are uint8 in {' or '.join(map(str, dimensions))}"
            )
        if colour and pixels.shape[-1] != 3:
            raise UserError(f"{path.name}: '{column}' has {pixels.shape[-1]} colours, not 3 (RGB)")
        if not len(pixels):
            raise UserError(f"{path.name} has no rows; nothing can be read from it")
        labels = {
            n: _label(a, n, path)
            for n, a in arrays.items()
            if n != column and a.ndim == 1 and len(a) == len(pixels) and a.dtype.kind in "iufbUS"
        }
        return cls(path, kind, column, pixels, pa.table(labels))

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    def __len__(self) -> int:
        return len(self.pixels)

    def items(self, start: int = 0) -> Iterator[Item]:
        """The items from number `start` on."""
        rows = self.table.slice(start).to_pylist() if self.table.num_columns else None
        for place, pixels in enumerate(self.pixels[start:]):
            if self.kind == "clip":
                sample: Clip | Picture = Clip(pixels)
            else:
                grey = pixels.ndim == 2
                sample = Picture(np.repeat(pixels[..., None], 3, axis=2) if grey else pixels)
            yield Item(f"row {start + place}", sample, rows[place] if rows else {})

    def stamp(self) -> str:
        """Size and modification time."""
        stat = self.path.stat()
        return f"{self.path.name} {stat.st_size} {stat.st_mtime_ns} {self.column}"

    def digest(self) -> str:
        """A hash of the file."""
        return f"{file_sha256(self.path)} {self.column}"

    def opened(self) -> dict[str, Any]:
        """The name of the array."""
        return {"column": self.column}


def _label(values: npt.NDArray[Any], name: str, path: Path) -> pa.Array:
    try:
        labels = pa.array(values.tolist())
        labels.validate(full=True)
        return labels
    except (pa.ArrowException, ValueError, OverflowError, SystemError) as error:
        # Invalid code points.
        raise UserError(
            f"{path.name}: array '{name}' cannot be read as labels ({one_line(error)})"
        ) from error


def _load(path: Path) -> dict[str, npt.NDArray[Any]]:
    try:
        with open_regular(path) as opened:
            if opened.read(6) == b"\x93NUMPY":
                raise UserError(f"{path} holds one bare array; save it with np.savez")
        # Sizes are checked here, before numpy allocates what a header asks for.
        names = [array.column for array in stored_arrays(path)]
        # Opened here, so that it is closed even if numpy fails.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            return {name: file[name] for name in names}
    except FileNotFoundError:
        raise UserError(f"no such file: {path}") from None
    except UserError:
        raise
    except Exception as error:  # with damage, zipfile and numpy raise errors of any type
        raise UserError(
            f"{path} is not an npz file of plain arrays, or was cut short ({one_line(error)})"
        ) from error
