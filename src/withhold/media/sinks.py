"""Sinks for released media: a folder, a table or an npz, written completely or not at all."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.atomic import write_bytes, writing_to
from withhold.core.errors import UserError
from withhold.media.encode import encode, suffix_for
from withhold.media.folder_sink import DATE, FolderSink, dealt
from withhold.media.media_sink import MediaSink
from withhold.records.readers.collection import Collection, Item, Samples, Selection
from withhold.records.readers.media_folder import MediaFolder
from withhold.records.readers.media_table import MULAW, MediaTable
from withhold.records.readers.pixel_arrays import PixelArrays
from withhold.records.samples import Clip, Picture, Sample, Sound
from withhold.records.writers import Sink, check_sink, open_sink
from withhold.records.writers.row_list import find_rows, rows_path, write_rows
from withhold.records.writers.shuffle import Shuffle

__all__ = ["ArraySink", "FolderSink", "MediaSink", "TableSink", "open_media_sink"]

_ROWS, _BYTES = 256, 64 * 2**20  # of a table, written at once
_TABLES = (".parquet", ".pq", ".npz", ".csv")


class TableSink(MediaSink):
    """A Parquet file like the one the media came from."""

    def __init__(
        self,
        target: Path,
        stored: MediaTable,
        drop: frozenset[str],
        places: npt.NDArray[np.int64] | None = None,
    ) -> None:
        super().__init__(drop)
        self.stored, self.target, self.places = stored, target, places
        self.originals: list[int] = []
        keep = [f for f in stored.source.schema if f.name == stored.column or f.name not in drop]
        self.schema = pa.schema([f.remove_metadata() for f in keep])
        self.sink: Sink = open_sink(target, self.schema)
        # Rows wait here until the end, and are then written in the order of their places.
        self.folder = self.target.with_name(f".{self.target.name}.rows")
        self.shuffle = Shuffle(
            self.schema, self.folder, rows=len(stored), size=stored.path.stat().st_size
        )
        self.held: list[dict[str, Any]] = []
        self.held_places: list[int] = []
        self.size = 0

    def __enter__(self) -> Self:
        self.sink.__enter__()
        shutil.rmtree(self.folder, ignore_errors=True)
        with writing_to(self.folder):
            self.folder.mkdir()
        self.shuffle.__enter__()
        return self

    def encoded(self, place: int, item: Item, sample: Sample) -> Any:
        """The value for the column of media."""
        if self.stored.form == "mulaw":
            assert isinstance(sample, Sound)
            return mulaw(sample)
        if self.stored.form == "samples":
            assert isinstance(sample, Sound)
            kind = self.schema.field(self.stored.column).type.value_type
            if kind != pa.int16():
                return sample.samples.astype(kind.to_pandas_dtype())
            # The same scale as in reading: 32768 is 1.
            return (sample.samples * 32768).round().clip(-32768, 32767).astype(np.int16)
        if self.stored.form == "text":
            return sample
        suffix = suffix_for(self.stored.kind, item.name, item.content)
        made = encode(sample, item.content, suffix)
        # A path may reveal people, as file names do.
        return {"bytes": made, "path": None} if self.stored.form == "struct" else made

    def put(self, place: int, item: Item, made: Any) -> None:
        """Add a row. Rows are written in batches."""
        self.held.append({**self.labels(item), self.stored.column: made})
        self.held_places.append(place if self.places is None else int(self.places[place]))
        self.originals.append(place)
        held = made["bytes"] if isinstance(made, dict) else made
        self.size += held.nbytes if isinstance(held, np.ndarray) else len(held)
        if len(self.held) >= _ROWS or self.size >= _BYTES:
            self._flush()

    def _flush(self) -> None:
        if self.held:
            batch = pa.RecordBatch.from_pylist(self.held, schema=self.schema)
            self.shuffle.write(batch, np.array(self.held_places, np.int64))
            self.held, self.held_places, self.size = [], [], 0

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._flush()
                for batch in self.shuffle.batches():
                    self.sink.write(batch)
        except BaseException as failed:
            self.sink.__exit__(type(failed), failed, None)
            raise
        finally:
            self.shuffle.__exit__()
            shutil.rmtree(self.folder, ignore_errors=True)
        self.sink.__exit__(kind, error, trace)
        if kind is None:
            os.utime(self.target, (DATE, DATE))
            list_rows(self.target, self.originals, self.places)


class ArraySink(MediaSink):
    """An npz like the one the pixels came from."""

    def __init__(
        self,
        target: Path,
        column: str,
        grey: bool,
        labels: Mapping[str, npt.NDArray[Any]],
        drop: frozenset[str],
        places: npt.NDArray[np.int64] | None = None,
    ) -> None:
        super().__init__(drop)
        self.target, self.column, self.grey, self.places = target, column, grey, places
        self.arrays = labels
        self.held: list[Any] = []
        self.originals: list[int] = []

    def __enter__(self) -> Self:
        return self

    def encoded(self, place: int, item: Item, sample: Sample) -> Any:
        """Pixels in the form of the original: grey or RGB."""
        if isinstance(sample, Clip):
            return sample.frames
        assert isinstance(sample, Picture)
        return sample.pixels[..., 0] if self.grey else sample.pixels

    def put(self, place: int, item: Item, made: Any) -> None:
        """Add an item."""
        self.held.append(made)
        self.originals.append(place)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            return
        order = np.arange(len(self.held))
        if self.places is not None:
            order = np.argsort(self.places[self.originals])
        rows = np.asarray(self.originals, np.int64)[order]
        labels = {name: values[rows] for name, values in self.arrays.items()}
        media = np.stack([self.held[i] for i in order])
        write_bytes(self.target, _npz({self.column: media} | labels))
        os.utime(self.target, (DATE, DATE))
        list_rows(self.target, self.originals, self.places)


def list_rows(target: Path, originals: list[int], places: npt.NDArray[np.int64] | None) -> None:
    """Write the list of which item became which row. Replaces the list of an older release."""
    with writing_to(target):
        while (older := find_rows(target)) is not None:
            older.unlink()
    if places is None:
        return
    rows = np.asarray(originals, np.int64)
    write_rows(rows_path(target, len(rows)), rows[np.argsort(places[rows])], target, None)


def is_of_files(collection: Collection, target: Path) -> bool:
    """Whether the release is a folder of files, as the media of the original are."""
    whole = _whole(collection)
    if isinstance(whole, Samples):
        return target.suffix.lower() != ".npz"
    inside = isinstance(whole, MediaTable) and whole.form != "path"
    return not inside and not isinstance(whole, PixelArrays)


def open_media_sink(
    collection: Collection,
    target: Path,
    plan: Mapping[str, Any],
    drop: frozenset[str],
    *,
    key: bytes = bytes(32),
    keep_names: bool = False,
    same_order: bool = False,
) -> MediaSink:
    """A sink for the release of a collection, in the form of that collection.

    Media in memory become an npz of pixels, or a folder. Unless `same_order`, the key determines
    the order of the rows of a table or an npz.
    """
    places = None if same_order else dealt(len(collection), key)
    whole = _whole(collection)
    if is_of_files(collection, target):
        _check_folder(whole, target)
        sink = FolderSink(
            target,
            plan,
            drop,
            collection.kind,
            items=len(collection),
            key=key,
            keep_names=keep_names,
        )
        if keep_names:
            sink.check_names(collection.items())
        return sink
    if isinstance(whole, MediaTable):
        if target.suffix.lower() not in (".parquet", ".pq"):
            raise UserError(f"{collection.name} has its media in a column, and so will its"
                            " release: name it .parquet")  # fmt: skip
        return TableSink(target, whole, drop, places)
    if target.suffix.lower() != ".npz":
        raise UserError(f"{collection.name} is an npz, and so will be its release: name it .npz")
    check_sink(target)
    grey = isinstance(whole, PixelArrays) and whole.pixels.ndim == 3
    column = whole.column if isinstance(whole, PixelArrays) else whole.kind
    return ArraySink(target, column, grey, _label_arrays(collection, drop), drop, places)


def _whole(collection: Collection) -> Collection:
    return collection.whole if isinstance(collection, Selection) else collection


def _label_arrays(collection: Collection, drop: frozenset[str]) -> dict[str, npt.NDArray[Any]]:
    """The released labels, (n,) each, with the types that they have in the file."""
    names = [n for n in collection.schema.names if n not in drop]
    whole = _whole(collection)
    if not isinstance(whole, PixelArrays):
        table = collection.labels()
        return {} if table is None else {n: np.array(table[n].to_pylist()) for n in names}
    with np.load(whole.path, allow_pickle=False) as file:
        labels = {n: file[n] for n in names}
    if isinstance(collection, Selection):
        labels = {n: values[collection.places] for n, values in labels.items()}
    return labels


def _check_folder(collection: Collection, target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise UserError(f"{target} is a file; a release of files is a folder, so choose another -o")
    if target.suffix.lower() in _TABLES:
        raise UserError(
            f"{collection.name} has its media as files, so its release is a folder, but"
            f" {target.name} looks like a file; choose another -o"
        )
    if isinstance(collection, MediaFolder):
        root, real = (Path(os.path.realpath(p)) for p in (collection.root, target))
        if real.is_relative_to(root):
            raise UserError(
                f"{target} is inside {collection.root}, so it would count as media to release;"
                " choose another -o"
            )
    if target.is_dir() and any(target.iterdir()):
        raise UserError(f"{target} exists and is not empty; choose another -o")


def mulaw(sound: Sound) -> bytes:
    """Samples as 8-bit mu-law, each rounded to the nearest of the 256 values."""
    edges = (MULAW[1:] + MULAW[:-1]) / 2
    return bytes(np.searchsorted(edges, sound.samples).astype(np.uint8))


def _npz(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Like np.savez_compressed, without time stamps; an array may also be called `file`."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, np.ascontiguousarray(array), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data.getvalue())
    return out.getvalue()
