"""Where a CSV file is broken, as a line number: Arrow counts records, not lines."""

from __future__ import annotations

import csv
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from withhold.records.readers.text_file import open_text

_MOST = 2**20  # characters of a line that are looked at


@dataclass(frozen=True)
class RaggedRecord:
    """A record with `fields` fields, where the header has `width`; its first and last line.

    second: whether it follows the header, so that the header may be a title.
    """

    line: int
    last: int
    fields: int
    width: int
    second: bool


def ragged_record(path: Path, delimiter: str) -> RaggedRecord | None:
    """The first record with other than the header's number of fields.

    None if it is not found: the csv module has its own limits.
    """
    width = before = rows = 0
    with suppress(csv.Error, OSError, EOFError, zlib.error), open_text(path) as file:
        reader = csv.reader(_lines(file), delimiter=delimiter)
        for row in reader:
            width = width or len(row)
            rows += bool(row)
            if row and len(row) != width:
                return RaggedRecord(before + 1, reader.line_num, len(row), width, rows == 2)
            before = reader.line_num
    return None


def endless_line(path: Path, delimiter: str) -> int | None:
    """The line where a record starts that is too long to be one; None if it is not found."""
    with suppress(OSError, EOFError, zlib.error), open_text(path) as file:
        reader = csv.reader(_lines(file), delimiter=delimiter)
        start = 1
        try:
            for row in reader:
                if sum(map(len, row)) > _MOST // 2:
                    return start
                start = reader.line_num + 1
        except csv.Error:  # a field of more than csv.field_size_limit(), 128 KiB
            return start
    return None


def _lines(file: TextIO) -> Iterator[str]:
    """Lines; the last is the first one that is too long to be held in memory."""
    while line := file.readline(_MOST):
        yield line
        if len(line) == _MOST:
            return
