"""A release of files: a folder that appears complete or not at all, and can be resumed."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.atomic import refuse_link, write_bytes, writing_to
from withhold.core.errors import UserError
from withhold.core.lists import as_csv
from withhold.core.safe_read import file_sha256
from withhold.media.encode import encode, suffix_for
from withhold.media.media_sink import MediaSink
from withhold.records.readers.collection import FILE, Collection, Item
from withhold.records.samples import SUFFIXES, BadMedia, Sample

MANIFEST = "manifest.csv"
PATH = "path"  # the manifest's column of released files
DATE = 315532800  # 1 January 1980, the date of every released file


class FolderSink(MediaSink):
    """A folder of files, numbered unless names are kept, and a manifest of their labels.

    Files are written to `NAME.partial`, which is renamed at the end. An interrupted run resumes
    from there. File names may reveal people, and so may their order (one folder per person).
    Therefore the key determines the numbers, all files have the same date, and the list of which
    file became which number is written beside the folder, not into it.
    """

    def __init__(
        self,
        target: Path,
        plan: Mapping[str, Any],
        labels: pa.Table,
        collection: Collection,
        *,
        key: bytes,
        keep_names: bool = False,
    ) -> None:
        keep = [n for n in labels.column_names if n not in (FILE, PATH)]
        super().__init__(_to_the_microsecond(labels.select(keep)))
        self.kind, self.keep_names = collection.kind, keep_names
        self.numbers = dealt(collection, key)
        # One format for all: which of them was in which format may tell of people.
        self.suffix = None if keep_names else commonest_suffix(collection)
        self.names = names_path(target)
        # If it is a link, its target is filled. A path such as `.` has a name only when resolved.
        self.target = Path(os.path.realpath(target))
        self.work = self.target.with_name(f"{self.target.name}.partial")
        # Beside the folder, never in it: the plan describes the original and stays private.
        self.note = self.target.with_name(f".{self.target.name}.plan.json")
        self.plan = json.dumps({**plan, "names": keep_names}, sort_keys=True).encode()
        self.rows: list[dict[str, Any]] = []
        self.renamed: list[dict[str, str]] = []

    def __enter__(self) -> Self:
        refuse_link(self.work)
        with writing_to(self.work):
            self.work.mkdir(exist_ok=True)
            note = self.note
            if not note.exists() and any(self.work.iterdir()):
                raise UserError(
                    f"{self.work} exists and was not made by withhold; move it, or choose"
                    " another -o"
                )
            if not note.exists() or note.read_bytes() != self.plan:
                shutil.rmtree(self.work)
                self.work.mkdir()
                write_bytes(note, self.plan)
            for half in self.work.rglob(".*.partial"):
                half.unlink()
            if any(self.work.iterdir()):
                self.resumed = str(self.work)
        return self

    def check_names(self, items: Iterable[Item]) -> None:
        """Refuse names that lead out of the folder, or that two files would share."""
        seen: dict[str, str] = {}
        for place, item in enumerate(items):
            if isinstance(item.content, BadMedia):
                continue
            name = self.released(place, item)
            if name in seen:
                raise UserError(
                    f"{seen[name]} and {item.name} would both be called {name} in the release;"
                    " leave out --keep-names"
                )
            seen[name] = item.name

    def released(self, place: int, item: Item) -> str:
        """The name of an item in the folder, with slashes."""
        suffix = self._suffix(item)
        if not self.keep_names or not isinstance(item.content, Path):
            return f"{self.numbers[place]:08d}{suffix}"
        path = PurePosixPath(item.name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            raise UserError(
                f"the name {item.name} leads out of the release; leave out --keep-names"
            )
        # The `.2` of a name such as `take.2` is not a suffix of media.
        known = path.suffix.lower() in SUFFIXES[self.kind]
        return f"{path.with_suffix('') if known else path}{suffix}"

    def done(self, place: int, item: Item) -> bool:
        """Whether the file exists. An empty file does not count: a power cut can leave one."""
        path = self.work / self.released(place, item)
        return path.is_file() and path.stat().st_size > 0

    def encoded(self, place: int, item: Item, sample: Sample) -> bytes:
        """The file's bytes."""
        return encode(sample, item.content, self._suffix(item))

    def _suffix(self, item: Item) -> str:
        return self.suffix or suffix_for(self.kind, item.name, item.content)

    def put(self, place: int, item: Item, made: bytes | None) -> None:
        """Write the file, and keep its line for the manifest."""
        name = self.released(place, item)
        path = self.work / name
        if made is not None:
            with writing_to(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_bytes(path, made, sync=False)
        labels = self.labels.slice(place, 1).to_pylist() if self.labels.num_columns else [{}]
        self.rows.append({PATH: name, **labels[0]})
        self.renamed.append({"released": name, "original": item.name, "sha256": file_sha256(path)})

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            if not self.rows and not self.resumed:  # nothing in it to resume from
                shutil.rmtree(self.work, ignore_errors=True)
                self.note.unlink(missing_ok=True)
            return
        rows = sorted(self.rows, key=lambda row: str(row[PATH]))
        write_bytes(self.work / MANIFEST, _csv(list(rows[0]) if rows else [], rows))
        if not self.keep_names:
            renamed = sorted(self.renamed, key=lambda row: row["released"])
            # Before the release is there: afterwards nobody would write it.
            write_bytes(
                self.names, as_csv(["released", "original", "sha256"], renamed), private=True
            )
        with writing_to(self.target):
            for path in [*self.work.rglob("*"), self.work]:
                os.utime(path, (DATE, DATE))
            if self.target.is_dir():
                self.target.rmdir()  # it was empty
            os.replace(self.work, self.target)
            self.note.unlink(missing_ok=True)


def dealt(collection: Collection, key: bytes) -> npt.NDArray[np.int64]:
    """A number for each item, 0 to n - 1, in an order that the key and the media decide.

    Two collections of one size get different orders: who knows one of them learns nothing of the
    other.
    """
    said = f"numbers {collection.digest()}".encode()
    seed = hashlib.blake2b(said, key=key, digest_size=32).digest()
    rng = np.random.default_rng(np.frombuffer(seed, np.uint32).tolist())
    return rng.permutation(len(collection))


def commonest_suffix(collection: Collection) -> str | None:
    """The suffix that most files of a collection would get; None where there is no choice."""
    found: Counter[str] = Counter()
    for item in collection.items():
        if not isinstance(item.content, BadMedia):
            with suppress(BadMedia):  # it is left out, with the reason
                found[suffix_for(collection.kind, item.name, item.content)] += 1
    return min(found, key=lambda suffix: (-found[suffix], suffix)) if len(found) > 1 else None


def _to_the_microsecond(table: pa.Table) -> pa.Table:
    """Python's times are no finer, and a manifest is written from Python's values."""
    fields = []
    for field in table.schema:
        kind = field.type
        if pa.types.is_timestamp(kind) and kind.unit == "ns":
            kind = pa.timestamp("us", kind.tz)
        elif pa.types.is_duration(kind) and kind.unit == "ns":
            kind = pa.duration("us")
        elif pa.types.is_time64(kind) and kind.unit == "ns":
            kind = pa.time64("us")
        fields.append(field.with_type(kind))
    return table.cast(pa.schema(fields), safe=False)


def names_path(target: Path) -> Path:
    """Where to write the list of which file became which number."""
    return target.with_name(f"{target.name}.names.csv")


def _csv(header: list[str], rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Rows as CSV, with values as they are, for programs."""
    text = io.StringIO()
    writer = csv.DictWriter(text, header, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode(errors="replace")
