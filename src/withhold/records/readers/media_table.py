"""Media in a table: a column of encoded bytes, sound samples, text, or paths to files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.core.safe_read import file_sha256
from withhold.records.arrow_kinds import is_list, is_text
from withhold.records.readers.collection import FILE, Item
from withhold.records.readers.fence import Fence
from withhold.records.readers.media_folder import contents, file_stamp, stem
from withhold.records.readers.source import Source, open_source
from withhold.records.samples import BadMedia, Content, FloatArray, Kind, Sound

Form = Literal["bytes", "mulaw", "samples", "path", "text", "struct"]
# y = u/127.5 - 1;  x = sign(y) (256^|y| - 1) / 255
_Y = np.arange(256) / 127.5 - 1
MULAW = (np.sign(_Y) * (256.0 ** np.abs(_Y) - 1) / 255).astype(np.float32)
_NAMES: dict[str, tuple[str, ...]] = {
    "sound": ("audio", "sound", "wave", "wav", "flac", "bytes"),
    "image": ("image", "jpeg", "jpg", "png", "picture", "face", "bytes"),
    "clip": ("video", "clip", "mp4", "bytes"),
    "text": ("text", "sentence"),
}
PATHS = ("path", "file", "filename", "file_name")


@dataclass(frozen=True, eq=False)
class MediaTable:
    """One column of a Parquet or CSV file has the media; the others are labels."""

    path: Path
    source: Source
    kind: Kind
    column: str
    form: Form
    rate: int | None
    schema: pa.Schema
    fence: Fence

    @classmethod
    def read(
        cls,
        path: Path,
        kind: Kind,
        *,
        column: str | None = None,
        rate: int | None = None,
        allow_outside: bool = False,
    ) -> MediaTable:
        """Find the column and its form. Paths that leave the folder of the table are refused."""
        source = open_source(path)
        column = _find(source, kind, column)
        field = source.schema.field(column)
        form = _form(field.type, kind, column, source)
        if form in ("mulaw", "samples"):
            rate = rate or _rate_in(column)
            if rate is None:
                raise UserError(
                    f"{source.name}: the sample rate of '{column}' is not known; give it with"
                    " --rate"
                )
        others = [f for f in source.schema if f.name != column]
        named = [pa.field(FILE, pa.string())] if form == "path" else []
        if named and FILE in [f.name for f in others]:
            named = []
        labels = pa.schema([*named, *map(_to_the_microsecond, others)])
        found = cls(path, source, kind, column, form, rate, labels, Fence(path, allow_outside))
        for _ in found._files():  # refuse a path that leads out before any work is done
            pass
        return found

    @property
    def name(self) -> str:
        """The file's name."""
        return self.source.name

    def __len__(self) -> int:
        return self.source.num_rows

    def labels(self) -> pa.Table | None:
        """The labels of every item. The column of media is not read."""
        names = [n for n in self.source.schema.names if n != self.column]
        columns: dict[str, Any] = {}
        if FILE in self.schema.names and FILE not in names:
            columns[FILE] = pa.array([self._file_name(p) for p in self._paths()], pa.string())
        if names:
            table = pa.Table.from_batches(list(self.source.batches(columns=names)))
            columns |= {n: table[n] for n in names}
        return pa.table(columns) if columns else None

    def items(self, start: int = 0) -> Iterator[Item]:
        """The items from number `start` on. Only a few rows are in memory at a time."""
        row = 0
        # Videos can take many megabytes each.
        for batch in self.source.batches(rows=16 if self.kind == "clip" else 256):
            if row + batch.num_rows > start:
                first = max(start - row, 0)
                yield from self._items(batch.slice(first), row + first)
            row += batch.num_rows

    def _items(self, batch: pa.RecordBatch, row: int) -> Iterator[Item]:
        others = [_to_the_microsecond(f) for f in batch.schema if f.name != self.column]
        labels = batch.drop_columns([self.column]).cast(pa.schema(others), safe=False).to_pylist()
        for place, value in enumerate(batch.column(self.column)):
            some: dict[str, Any] = labels[place] if labels else {}
            name, content = f"row {row + place}", self._content(value, row + place)
            if self.form == "path" and value.is_valid:
                name = value.as_py()
                some = {FILE: self._file_name(name)} | some
            yield Item(name, content, some)

    def _content(self, value: pa.Scalar, row: int) -> Content | BadMedia:
        if not value.is_valid:
            return BadMedia("it is missing (null)")
        if self.form == "path":
            return self.fence.resolve(str(value.as_py()), row)
        if self.form == "struct":
            return self._of_struct(value.as_py(), row)
        if self.form in ("bytes", "text"):
            content: bytes | str = value.as_py()
            return content if content else BadMedia("it is empty")
        if self.form == "mulaw":
            wave = MULAW[np.frombuffer(value.as_buffer(), np.uint8)]
        else:
            wave = _samples(value.values)
        if not len(wave):
            return BadMedia("it has no samples")
        if not np.isfinite(wave).all():
            return BadMedia("it holds NaN or infinite samples")
        return Sound(wave, self.rate or 0)

    def _of_struct(self, value: dict[str, Any], row: int) -> Content | BadMedia:
        """The bytes if there are any, otherwise the file that the path names."""
        if value.get("bytes"):
            return bytes(value["bytes"])
        if value.get("path"):
            return self.fence.resolve(str(value["path"]), row)
        return BadMedia("it has neither bytes nor a path")

    @cached_property
    def _stems_differ(self) -> bool:
        """Whether the names are still different without suffixes."""
        stems = [stem(path) for path in self._paths() if path is not None]
        return len(set(stems)) == len(stems)

    def _file_name(self, path: str | None) -> str | None:
        return stem(path) if path is not None and self._stems_differ else path

    def _paths(self) -> Iterator[str | None]:
        for batch in self.source.batches(columns=[self.column]):
            yield from batch.column(0).to_pylist()

    def stamp(self) -> str:
        """Size and modification time of the table and of the files it names."""
        h = hashlib.sha256(file_stamp(self.path).encode())
        for path in self._files():
            h.update(bytes(path) + file_stamp(path).encode())
        return f"{self.path.name} {h.hexdigest()} {self._read_as}"

    def digest(self) -> str:
        """A hash of the table, and of the files it names."""
        return f"{self._contents} {self._read_as}"

    def opened(self) -> dict[str, Any]:
        """The column of the media, and the sample rate of raw sound."""
        rate = {} if self.rate is None else {"rate": self.rate}
        return {"column": self.column, **rate}

    def _files(self) -> Iterator[Path]:
        """The files that the table names."""
        if self.form == "path":
            for row, path in enumerate(self._paths()):
                if path is not None:
                    yield self.fence.resolve(path, row)

    @property
    def _read_as(self) -> str:
        return f"{self.column} {self.form} {self.rate}"

    @cached_property
    def _contents(self) -> str:
        h = hashlib.sha256(file_sha256(self.path).encode())
        for path in self._files():
            h.update(contents(path))
        return h.hexdigest()


def _to_the_microsecond(field: pa.Field) -> pa.Field:
    """Times in microseconds: to convert finer ones, Arrow needs pandas."""
    kind = field.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return field.with_type(pa.timestamp("us", kind.tz))
    if pa.types.is_duration(kind) and kind.unit == "ns":
        return field.with_type(pa.duration("us"))
    if pa.types.is_time64(kind) and kind.unit == "ns":
        return field.with_type(pa.time64("us"))
    return field


def _samples(values: pa.Array) -> FloatArray:
    if values.null_count:
        return np.full(1, np.nan, np.float32)
    array = values.to_numpy(zero_copy_only=False)
    scale = np.float32(32768 if array.dtype == np.int16 else 1)
    wave: FloatArray = array.astype(np.float32) / scale
    return wave


def _find(source: Source, kind: Kind, column: str | None) -> str:
    names = source.schema.names
    if column is not None:
        if column not in names:
            raise UserError(
                f"column '{column}' is not in {source.name}{did_you_mean(column, names)}"
            )
        return column
    # A label may be called `face_shape` or `wave_height`: try types that can only be media first.
    named = [n for n in names if n.lower().startswith(_NAMES[kind])]
    media = [n for n in named if _can_be(source.schema.field(n).type, kind)]
    paths = [n for n in names if n.lower() in PATHS]
    likely = next((some for some in (media, paths, named) if some), [])
    if len(likely) != 1:
        raise UserError(
            f"{source.name}: cannot find the column with the {kind}s or their paths"
            f" (columns: {listing(names)}); name it with --column"
        )
    return str(likely[0])


def _is_struct(found: pa.DataType) -> bool:
    """Whether a column is {bytes, path}, the format of media in Hugging Face datasets."""
    return bool(pa.types.is_struct(found)) and found.get_field_index("bytes") >= 0


def _can_be(found: pa.DataType, kind: Kind) -> bool:
    """Whether a column of that type contains the media themselves."""
    if _is_struct(found):
        return True
    if is_text(found):
        return kind == "text"
    if pa.types.is_binary(found) or pa.types.is_large_binary(found):
        return True
    return kind == "sound" and is_list(found)


def _form(found: pa.DataType, kind: Kind, column: str, source: Source) -> Form:
    if _is_struct(found):
        return "struct"
    if pa.types.is_binary(found) or pa.types.is_large_binary(found):
        return _bytes(source, column, kind)
    if kind == "sound" and is_list(found):
        values = found.value_type
        if values == pa.int16() or pa.types.is_floating(values):
            return "samples"
        raise UserError(f"{source.name}: column '{column}' holds {values}, not sound samples")
    if is_text(found):
        return "text" if kind == "text" and column.lower() not in PATHS else "path"
    wanted = "bytes of files, paths" + (", or lists of int16 or float" if kind == "sound" else "")
    raise UserError(f"{source.name}: column '{column}' is {found}; {kind}s are {wanted}")


def _bytes(source: Source, column: str, kind: Kind) -> Form:
    """Whether binary sound is files or raw mu-law. Files begin with a signature of their format."""
    if kind != "sound":
        return "bytes"
    if "mulaw" in column.lower():
        return "mulaw"
    first = next(iter(source.batches(rows=16, columns=[column])))
    heads = [head for v in first.column(0) if v.is_valid and (head := v.as_py()[:4])]
    marks = (b"RIFF", b"fLaC", b"OggS", b"FORM", b"ID3", b"\xff\xfb", b".snd", b"caff", b"riff")
    # The majority decides: a file may be damaged, and mu-law may begin with any bytes.
    return "bytes" if 2 * sum(h.startswith(marks) for h in heads) > len(heads) else "mulaw"


def _rate_in(column: str) -> int | None:
    """The sample rate that a column's name states.

    >>> _rate_in("audio_mulaw_8khz")
    8000
    """
    found = re.search(r"(\d+(?:\.\d+)?)(k?)hz", column.lower())
    return round(float(found[1]) * (1000 if found[2] else 1)) if found else None
