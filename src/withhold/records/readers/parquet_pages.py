"""The unpacked sizes that the page headers of a Parquet file declare.

The footer may declare a small column while one of its pages declares two gigabytes, which Arrow
allocates and fills: zstd packs zeros 30,000 to 1. So the page headers are read as well.

    FileMetaData   = …, 4: row groups, …
    RowGroup       = 1: column chunks, …
    ColumnChunk    = …, 3: metadata, …
    ColumnMetaData = …, 7: packed size, …, 9: place of data, …, 11: place of dictionary, …
    PageHeader     = 1: type, 2: size unpacked, 3: size packed, …

A page header is followed by its packed bytes, then by the next header. The footer is parsed here,
because Arrow ends the process if the metadata of a column chunk makes no sense.
"""

from __future__ import annotations

import io
from typing import BinaryIO

from withhold.records.readers.thrift_compact import I32, I64, LIST, STRUCT, Compact

_LONGEST_HEADER = 2**14  # with statistics in it
_TAIL = 8  # the footer's length, and PAR1


def unpacked_pages(file: BinaryIO) -> int:
    """The total declared unpacked size in bytes; ValueError if it is not a Parquet file."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(size - _TAIL, 0))
    length = int.from_bytes(file.read(4), "little")
    if length > size - _TAIL:
        raise ValueError("its footer is longer than the file")
    file.seek(size - _TAIL - length)
    return sum(_pages(file, start, stop) for start, stop in _chunks(file.read(length)))


def _chunks(footer: bytes) -> list[tuple[int, int]]:
    """Where every column chunk begins and ends."""
    read = Compact(footer)
    places: list[tuple[int, int]] = []
    numbers = dict.fromkeys((7, 9, 11), (I64, read.integer))

    def metadata() -> None:
        found = read.struct(numbers)
        start = min(found[field] for field in (9, 11) if field in found)
        places.append((start, start + found.get(7, 0)))

    def chunk() -> None:
        read.struct({3: (STRUCT, metadata)})

    def group() -> None:
        read.struct({1: (LIST, lambda: read.structs(chunk))})

    read.struct({4: (LIST, lambda: read.structs(group))})
    return places


def _pages(file: BinaryIO, start: int, stop: int) -> int:
    """The sum over the pages of one column chunk."""
    total = 0
    while 0 <= start < stop:
        file.seek(start)
        read = Compact(file.read(min(_LONGEST_HEADER, stop - start)))
        try:
            sizes = read.struct(dict.fromkeys((2, 3), (I32, read.integer)))
        except ValueError:
            break  # Arrow cannot read it either, and will report it
        if min(sizes.values(), default=-1) < 0:
            break
        total += sizes.get(2, 0)
        start += read.at + sizes.get(3, 0)
    return total
