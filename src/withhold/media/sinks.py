"""Where released media go: a folder, a table or an npz, complete under its name or not at all."""

from __future__ import annotations

import csv
import glob
import hashlib
import io
import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.atomic import write_bytes, writing_to
from withhold.data.files import Sink, open_sink
from withhold.errors import UserError
from withhold.media.collect.arrays import Arrays
from withhold.media.collect.collection import FILE, Collection, Item
from withhold.media.collect.stored import MULAW, Stored
from withhold.media.encode import encode, suffix_for
from withhold.media.samples import Clip, Picture, Sample, Sound

MANIFEST = "manifest.csv"
DATE = 315532800  # 1 January 1980, the date of every released file


class MediaSink(ABC):
    """Takes samples in the order of the collection; `encoded` may be called from any thread."""

    def __init__(self, drop: frozenset[str]) -> None:
        self.drop = drop

    def done(self, place: int, item: Item) -> bool:
        """Whether an earlier run has written this item already."""
        return False

    @abstractmethod
    def encoded(self, place: int, item: Item, sample: Sample) -> Any:
        """What `put` takes."""

    @abstractmethod
    def put(self, place: int, item: Item, made: Any) -> None:
        """Write one item; `made` is None where `done` said so."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def labels(self, item: Item) -> dict[str, Any]:
        """The labels that are released with an item."""
        return {k: v for k, v in item.labels.items() if k not in self.drop}


class FolderSink(MediaSink):
    """A folder of files, numbered unless names are kept, and a manifest of their labels.

    Files are made in `NAME.partial`, which takes the name in the end; a killed run finds there
    what it has done. Names of files tell of people, and so does their order (a folder of folders
    of people): numbers are dealt out by the key, all files are of one date, and the list of who
    became which number is written beside the folder, not into it.
    """

    def __init__(
        self,
        target: Path,
        plan: Mapping[str, Any],
        drop: frozenset[str],
        *,
        items: int,
        key: bytes,
        keep_names: bool,
    ) -> None:
        super().__init__(drop | {FILE})
        self.target, self.keep_names = target, keep_names
        self.numbers = dealt(items, key)
        self.work = target.with_name(f"{target.name}.partial")
        self.plan = json.dumps({**plan, "names": keep_names}, sort_keys=True).encode()
        self.rows: list[dict[str, Any]] = []
        self.names: list[tuple[str, str]] = []

    def __enter__(self) -> Self:
        with writing_to(self.work):
            self.work.mkdir(exist_ok=True)
            note = self.work / ".plan.json"
            if not note.exists() or note.read_bytes() != self.plan:
                shutil.rmtree(self.work)
                self.work.mkdir()
                write_bytes(note, self.plan)
        return self

    def done(self, place: int, item: Item) -> bool:
        """Whether the file is there."""
        return any(self.work.glob(f"{glob.escape(self._stem(place, item))}.*"))

    def encoded(self, place: int, item: Item, sample: Sample) -> tuple[str, bytes]:
        """The file's suffix and bytes."""
        suffix = suffix_for(sample, item.name, item.content)
        return suffix, encode(sample, item.content, suffix)

    def put(self, place: int, item: Item, made: tuple[str, bytes] | None) -> None:
        """Write the file, and remember its line of the manifest."""
        stem = self._stem(place, item)
        if made is None:
            path = next(self.work.glob(f"{glob.escape(stem)}.*"))
        else:
            path = self.work / f"{stem}{made[0]}"
            with writing_to(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_bytes(path, made[1], sync=False)
        name = path.relative_to(self.work).as_posix()
        self.rows.append({"path": name, **self.labels(item)})
        self.names.append((name, item.name))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            return
        rows = sorted(self.rows, key=lambda row: str(row["path"]))
        write_bytes(self.work / MANIFEST, _csv(list(rows[0]) if rows else [], rows))
        for path in [*self.work.rglob("*"), self.work]:
            os.utime(path, (DATE, DATE))
        with writing_to(self.target):
            (self.work / ".plan.json").unlink()
            if self.target.is_dir():
                self.target.rmdir()  # it was empty
            os.replace(self.work, self.target)
        if not self.keep_names:
            rows = [{"released": new, "original": old} for new, old in sorted(self.names)]
            write_bytes(names_path(self.target), _csv(["released", "original"], rows))

    def _stem(self, place: int, item: Item) -> str:
        if not self.keep_names:
            return f"{self.numbers[place]:08d}"
        path = PurePosixPath(item.name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            raise UserError(
                f"the name {item.name} leads out of the release; leave out --keep-names"
            )
        return path.with_suffix("").as_posix()


class TableSink(MediaSink):
    """A Parquet file like the one the media came from."""

    def __init__(self, target: Path, stored: Stored, drop: frozenset[str]) -> None:
        super().__init__(drop)
        self.stored = stored
        keep = [f for f in stored.source.schema if f.name == stored.column or f.name not in drop]
        self.schema = pa.schema([f.remove_metadata() for f in keep])
        self.sink: Sink = open_sink(target, self.schema)
        self.held: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        self.sink.__enter__()
        return self

    def encoded(self, place: int, item: Item, sample: Sample) -> Any:
        """The value of the column."""
        if self.stored.form in ("mulaw", "samples"):
            assert isinstance(sample, Sound)
            if self.stored.form == "mulaw":
                return mulaw(sample)
            values = self.schema.field(self.stored.column).type.value_type
            whole = values == pa.int16()
            wave = np.clip(sample.samples, -1, 1) if whole else sample.samples
            return (wave * 32767).round().astype(np.int16) if whole else wave
        if self.stored.form == "text":
            return sample
        return encode(sample, item.content, suffix_for(sample, item.name, item.content))

    def put(self, place: int, item: Item, made: Any) -> None:
        """Hold a row; write 256 at a time."""
        self.held.append({**self.labels(item), self.stored.column: made})
        if len(self.held) >= 256:
            self._flush()

    def _flush(self) -> None:
        if self.held:
            self.sink.write(pa.RecordBatch.from_pylist(self.held, schema=self.schema))
            self.held = []

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._flush()
        except BaseException as failed:
            self.sink.__exit__(type(failed), failed, None)
            raise
        self.sink.__exit__(kind, error, trace)


class ArraySink(MediaSink):
    """An npz like the one the pixels came from."""

    def __init__(self, target: Path, arrays: Arrays, drop: frozenset[str]) -> None:
        super().__init__(drop)
        self.target, self.arrays = target, arrays
        self.held: list[Any] = []
        self.rows: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def encoded(self, place: int, item: Item, sample: Sample) -> Any:
        """Pixels as they are stored: grey where the original is."""
        if isinstance(sample, Clip):
            return sample.frames
        assert isinstance(sample, Picture)
        grey = self.arrays.pixels.ndim == 3
        return sample.pixels[..., 0] if grey else sample.pixels

    def put(self, place: int, item: Item, made: Any) -> None:
        """Hold one."""
        self.held.append(made)
        self.rows.append(self.labels(item))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            return
        names = list(self.rows[0]) if self.rows else []
        labels = {n: np.asarray([row[n] for row in self.rows]) for n in names}
        data = io.BytesIO()
        np.savez_compressed(data, **{self.arrays.column: np.stack(self.held)}, **labels)  # type: ignore[arg-type]
        write_bytes(self.target, data.getvalue())


def open_media_sink(
    collection: Collection,
    target: Path,
    plan: Mapping[str, Any],
    drop: frozenset[str],
    *,
    key: bytes = bytes(32),
    keep_names: bool = False,
) -> MediaSink:
    """A sink for the release of a collection: of the collection's own form."""
    if isinstance(collection, Stored) and collection.form != "path":
        if target.suffix.lower() not in (".parquet", ".pq"):
            raise UserError(f"{collection.name} holds its media in a column, and so does its"
                            " release: name it .parquet")  # fmt: skip
        return TableSink(target, collection, drop)
    if isinstance(collection, Arrays):
        if target.suffix.lower() != ".npz":
            raise UserError(f"{collection.name} is an npz, and so is its release: name it .npz")
        return ArraySink(target, collection, drop)
    if target.exists() and not target.is_dir():
        raise UserError(f"{target} is a file; a release of files is a folder, choose another -o")
    if target.is_dir() and any(target.iterdir()):
        raise UserError(f"{target} exists and is not empty; it is left alone, choose another -o")
    return FolderSink(target, plan, drop, items=len(collection), key=key, keep_names=keep_names)


def dealt(items: int, key: bytes) -> npt.NDArray[np.int64]:
    """The numbers 0 to items - 1 in an order that only the key tells."""
    seed = hashlib.blake2b(b"numbers", key=key, digest_size=32).digest()
    rng = np.random.default_rng(np.frombuffer(seed, np.uint32).tolist())
    return rng.permutation(items)


def names_path(target: Path) -> Path:
    """Where the list of who became which number goes."""
    return target.with_name(f"{target.name}.names.csv")


def mulaw(sound: Sound) -> bytes:
    """Samples as 8-bit mu-law, the nearest of the 256 values each."""
    edges = (MULAW[1:] + MULAW[:-1]) / 2
    return bytes(np.searchsorted(edges, sound.samples).astype(np.uint8))


def _csv(header: list[str], rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, header, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode(errors="replace")
