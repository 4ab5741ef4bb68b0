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
from withhold.core.safe_read import file_sha256
from withhold.media.encode import encode, suffix_for
from withhold.media.folder_sink import DATE, FolderSink, commonest_suffix, dealt
from withhold.media.media_sink import MediaSink
from withhold.records.readers.collection import Collection, Item, Samples, Selection
from withhold.records.readers.media_folder import MediaFolder
from withhold.records.readers.media_table import MULAW, MediaTable
from withhold.records.readers.pixel_arrays import PixelArrays
from withhold.records.samples import Clip, Picture, Sample, Sound
from withhold.records.writers import Sink, check_sink, open_sink
from withhold.records.writers.npz_sink import to_array
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
        labels: pa.Table,
        original: str | None,
        places: npt.NDArray[np.int64] | None = None,
        *,
        suffix: str | None = None,
    ) -> None:
        super().__init__(labels)
        self.suffix = suffix  # one format for all
        self.stored, self.target, self.places, self.original = stored, target, places, original
        self.originals: list[int] = []
        media = stored.source.schema.field(stored.column).remove_metadata()
        known = {f.name: f for f in labels.schema} | {stored.column: media}
        order = [n for n in stored.source.schema.names if n in known]
        order += [n for n in known if n not in order]
        self.schema = pa.schema([known[n] for n in order])
        self.sink: Sink = open_sink(target, self.schema)
        # Rows wait here until the end, and are then written in the order of their places.
        self.folder = self.target.with_name(f".{self.target.name}.rows")
        self.shuffle = Shuffle(
            self.schema, self.folder, rows=len(stored), size=stored.path.stat().st_size
        )
        self.held: list[Any] = []
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
        suffix = self.suffix or suffix_for(self.stored.kind, item.name, item.content)
        made = encode(sample, item.content, suffix)
        # A path may reveal people, as file names do.
        return {"bytes": made, "path": None} if self.stored.form == "struct" else made

    def put(self, place: int, item: Item, made: Any) -> None:
        """Hold a row; write some at a time."""
        self.held.append(made)
        self.originals.append(place)
        held = made["bytes"] if isinstance(made, dict) else made
        self.size += held.nbytes if isinstance(held, np.ndarray) else len(held)
        if len(self.held) >= _ROWS or self.size >= _BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self.held:
            return
        rows = np.array(self.originals[-len(self.held) :], np.int64)
        some = self.labels.take(pa.array(rows)) if self.labels.num_columns else self.labels
        media = pa.array(self.held, self.schema.field(self.stored.column).type)
        columns = [
            media if f.name == self.stored.column else some[f.name].combine_chunks()
            for f in self.schema
        ]
        batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        self.shuffle.write(batch, rows if self.places is None else self.places[rows])
        self.held, self.size = [], 0

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
            list_rows(self.target, self.originals, self.places, self.original)


class ArraySink(MediaSink):
    """An npz like the one the pixels came from."""

    def __init__(
        self,
        target: Path,
        column: str,
        grey: bool,
        labels: pa.Table,
        original: str | None,
        places: npt.NDArray[np.int64] | None = None,
        *,
        types: Mapping[str, np.dtype[Any]] | None = None,
    ) -> None:
        super().__init__(labels)
        self.types = types or {}  # of numbers, as the original has them
        self.target, self.column, self.grey, self.places = target, column, grey, places
        self.original = original
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
        some = self.labels.take(pa.array(rows)) if self.labels.num_columns else self.labels
        labels = {}
        for name in some.column_names:
            array, own = to_array(some[name]), self.types.get(name)
            numbers = own is not None and own.kind in "iufb" and array.dtype.kind in "iufb"
            labels[name] = array.astype(own) if numbers else array
        media = np.stack([self.held[i] for i in order])
        write_bytes(self.target, _npz({self.column: media} | labels))
        os.utime(self.target, (DATE, DATE))
        list_rows(self.target, self.originals, self.places, self.original)


def list_rows(
    target: Path,
    originals: list[int],
    places: npt.NDArray[np.int64] | None,
    original: str | None,
) -> None:
    """Write which item became which row, beside the release; remove the list of an older one."""
    with writing_to(target):
        while (older := find_rows(target)) is not None:
            older.unlink()
    if places is None:
        return
    rows = np.asarray(originals, np.int64)
    write_rows(rows_path(target, len(rows)), rows[np.argsort(places[rows])], target, original)


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
    labels: pa.Table,
    *,
    key: bytes = bytes(32),
    keep_names: bool = False,
    same_order: bool = False,
) -> MediaSink:
    """A sink for the release of a collection, in the form of that collection.

    Media in memory become an npz of pixels, or a folder. Rows of a table or an npz get their places
    by the key, unless `same_order`. labels: those that leave, a row for each item.
    """
    whole = _whole(collection)
    if is_of_files(collection, target):
        _check_folder(whole, target)
        sink = FolderSink(target, plan, labels, collection, key=key, keep_names=keep_names)
        if keep_names:
            sink.check_names(collection.items())
        return sink
    places = None if same_order else dealt(collection, key)
    if isinstance(whole, MediaTable):
        if target.suffix.lower() not in (".parquet", ".pq"):
            raise UserError(f"{collection.name} has its media in a column, and so will its"
                            " release: name it .parquet")  # fmt: skip
        original = file_sha256(whole.path) if whole is collection else None
        encoded = whole.form in ("bytes", "struct")
        suffix = commonest_suffix(collection) if encoded else None
        return TableSink(target, whole, labels, original, places, suffix=suffix)
    if target.suffix.lower() != ".npz":
        raise UserError(f"{collection.name} is an npz, and so will be its release: name it .npz")
    check_sink(target)
    grey = isinstance(whole, PixelArrays) and whole.pixels.ndim == 3
    column = whole.column if isinstance(whole, PixelArrays) else whole.kind
    own = isinstance(whole, PixelArrays) and whole is collection
    original = file_sha256(whole.path) if own and isinstance(whole, PixelArrays) else None
    types = _types(whole) if isinstance(whole, PixelArrays) else {}
    return ArraySink(target, column, grey, labels, original, places, types=types)


def _types(arrays: PixelArrays) -> dict[str, np.dtype[Any]]:
    with np.load(arrays.path, allow_pickle=False) as file:
        return {name: file[name].dtype for name in arrays.table.column_names}


def _whole(collection: Collection) -> Collection:
    return collection.whole if isinstance(collection, Selection) else collection


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
