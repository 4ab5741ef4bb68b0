"""The contents of a release file other than its values. They are not attacked, so we list them.

Our readers drop them, but an attacker can use them: how a CSV writes its numbers, the key-value
metadata of Parquet, parts of a workbook that hold no values, comments and spare bytes of an NPZ.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from withhold.audit.findings import METADATA, Column
from withhold.records.dataset import Dataset
from withhold.records.readers.npz_source import read_header, stored_arrays

_UNREAD = "metadata is not read"
_PANDAS = "pandas"
_PLAIN_KEYS = {
    *("index_columns", "column_indexes", "columns", "attributes", "partition_columns"),
    *("creator", "pandas_version"),
}
_TYPE_WORD = re.compile(r"[\w.\-+/\[\], :=<>]{0,48}")
_LEAVES = 15  # the most keys and values that pandas writes for one column
_NPY_HEADER = 192  # bytes before the values of an array; numpy writes 128
_ZIP64 = b"\x01\x00"
_TEXTS = {
    (".csv", ".tsv"): "numbers are written: digits, zeros, quotes",
    (".jsonl", ".ndjson"): "values are written: digits, spaces, escapes, order of names",
}
_CELLS = "cells are written: digits, styles, widths, hidden rows"
# Parts of a workbook that hold its values, or how they look.
_USUAL = re.compile(
    r"\[Content_Types\]\.xml|_rels/\.rels|xl/(workbook|styles|sharedStrings|theme/theme1)\.xml"
    r"|xl/_rels/workbook\.xml\.rels|xl/worksheets/sheet1\.xml"
)


def beside_values(release: Dataset) -> tuple[Column, ...]:
    """What our reader dropped from the file of the release; empty if there is no file."""
    if release.path is None or not release.path.is_file():
        return ()
    name = release.path.name.lower().removesuffix(".gz")
    for suffixes, how in _TEXTS.items():
        if name.endswith(suffixes):
            return (_text(how),)
    if name.endswith(".xlsx"):
        parts = dict.fromkeys(_in_workbook(release.path))
        return (_text(_CELLS), *(_metadata(one) for one in parts))
    if name.endswith(".npz"):
        return tuple(_metadata(one) for one in dict.fromkeys(_in_npz(release.path)))
    return tuple(_in_schema(release.schema, len(release)))


def _text(how: str) -> Column:
    """How the values of a file are written, which no reader of values sees."""
    why = "only values are read"
    return Column(name=f"(how {how})", kind="text of the file", attacked=False, why_not=why)


def _metadata(name: str, kind: str = METADATA, why_not: str = _UNREAD) -> Column:
    return Column(name=f"(file metadata: {name})", kind=kind, attacked=False, why_not=why_not)


def _in_schema(schema: pa.Schema, rows: int) -> Iterator[Column]:
    """Keys of the metadata of a Parquet file and of its columns."""
    for key, value in (schema.metadata or {}).items():
        name = key.decode(errors="replace")
        if name == _PANDAS and _is_plain(value, schema, rows):
            yield _metadata(name, "names and types", "it has the form that pandas writes")
        else:
            yield _metadata(name)
    for field in schema:
        for key in field.metadata or {}:
            if key != b"PARQUET:field_id":
                yield _metadata(f"{field.name}: {key.decode(errors='replace')}")


def _is_plain(value: bytes, schema: pa.Schema, rows: int) -> bool:
    """Whether this is what pandas writes into every file: only names and types."""
    try:
        found = json.loads(value)
    except ValueError:
        return False
    if not isinstance(found, dict) or not set(found) <= _PLAIN_KEYS or found.get("attributes"):
        return False
    columns = found.get("columns", [])
    named = [c.get("field_name") for c in columns if isinstance(c, Mapping)]
    if len(named) != len(columns) or sorted(map(str, named)) != sorted(schema.names):
        return False
    if len(found.get("column_indexes", [])) > 1 or len(found.get("index_columns", [])) > 2:
        return False
    known = {*schema.names, None, True, False, rows}
    leaves = list(_leaves(found))
    few = len(leaves) <= _LEAVES * (len(columns) + 3)
    return few and all(_is_known(leaf, known) for leaf in leaves)


def _is_known(leaf: Any, known: set[Any]) -> bool:
    if isinstance(leaf, str):
        return leaf in known or _TYPE_WORD.fullmatch(leaf) is not None
    return leaf in known or (isinstance(leaf, int) and 0 <= leaf < 2**16)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from (key, *_leaves(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


def _in_workbook(path: Path) -> Iterator[str]:
    """Parts other than one sheet, its texts and styles; comments and extra fields."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if archive.comment:
            yield "comment of the archive"
        if min((m.header_offset for m in members), default=0) > 0:
            yield "bytes before the parts"
        for member in members:
            if not _USUAL.fullmatch(member.filename):
                yield f"part '{member.filename}'"
            if member.comment:
                yield f"comment of '{member.filename}'"
            if member.extra and not member.extra.startswith(_ZIP64):
                yield f"extra field of '{member.filename}'"
        if len({m.filename for m in members}) < len(members):
            yield "two parts of one name"


def _in_npz(path: Path) -> Iterator[str]:
    """Comments, extra fields and bytes that belong to no array."""
    needed = {a.file: a.dtype.itemsize * math.prod(a.shape) for a in stored_arrays(path)}
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if archive.comment:
            yield "comment of the archive"
        if min((m.header_offset for m in members), default=0) > 0:
            yield "bytes before the arrays"
        for member in members:
            if member.comment:
                yield f"comment of '{member.filename}'"
            if member.extra and not member.extra.startswith(_ZIP64):
                yield f"extra field of '{member.filename}'"
            with archive.open(member) as stream:
                read_header(stream)
                first = stream.tell()
            if first > _NPY_HEADER or member.file_size > first + needed[member.filename]:
                yield f"spare bytes of the array '{member.filename}'"
        if len({m.filename for m in members}) < len(members):
            yield "two arrays of one name"
