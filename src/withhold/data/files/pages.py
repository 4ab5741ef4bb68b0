"""How large the pages of a Parquet file say they are, from their own headers.

The footer may say that a column is small while a page inside says two gigabytes, which Arrow
allocates and fills: zstd packs zeros 30,000 to 1. So the headers of the pages are read as well.
Each is a struct of thrift's compact protocol,

    PageHeader = 1: type, 2: uncompressed_page_size, 3: compressed_page_size, …

and is followed by compressed_page_size bytes, then by the next header. A header that cannot be read
ends the walk through its column: Arrow cannot read it either, and says so.
"""

from __future__ import annotations

from typing import BinaryIO

import pyarrow.parquet as pq

# Codecs that cannot grow: what they unpack to is at most 255 times as large as what is there.
_HARMLESS = {"UNCOMPRESSED", "SNAPPY", "LZ4", "LZ4_RAW"}
_LONGEST_HEADER = 2**14  # with statistics in it
_DEEPEST = 16


def unpacked_pages(file: BinaryIO, metadata: pq.FileMetaData) -> int:
    """The sum of what all pages say they unpack to, in bytes."""
    total = 0
    for place in range(metadata.num_row_groups):
        group = metadata.row_group(place)
        for number in range(group.num_columns):
            chunk = group.column(number)
            if chunk.compression not in _HARMLESS:
                starts = (chunk.dictionary_page_offset, chunk.data_page_offset)
                start = min(offset for offset in starts if offset is not None)
                total += _chunk(file, start, start + chunk.total_compressed_size)
    return total


def _chunk(file: BinaryIO, start: int, stop: int) -> int:
    total = 0
    while 0 <= start < stop:
        file.seek(start)
        header = _Header(file.read(min(_LONGEST_HEADER, stop - start)))
        try:
            sizes = header.sizes()
        except (IndexError, RecursionError):
            break
        if min(sizes) < 0:
            break
        total += sizes[0]
        start += header.at + sizes[1]
    return total


class _Header:
    """One struct of the compact protocol, read from the front; IndexError where it ends early."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def sizes(self) -> tuple[int, int]:
        """Fields 2 and 3: the size when unpacked, and as it lies there."""
        found = {2: 0, 3: 0}
        field = 0
        while (head := self._byte()) != 0:
            field = field + (head >> 4) if head >> 4 else self._zigzag()
            if field in found and head & 15 == 5:
                found[field] = self._zigzag()
            else:
                self._skip(head & 15, _DEEPEST)
        return found[2], found[3]

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _zigzag(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)

    def _skip(self, kind: int, depth: int) -> None:
        if depth == 0:
            raise RecursionError
        if kind in (1, 2):  # true and false, which are in the field's own head
            return
        if kind == 3:
            self.at += 1
        elif kind in (4, 5, 6):
            self._varint()
        elif kind == 7:
            self.at += 8
        elif kind == 8:
            length = self._varint()
            self.at += length
        elif kind in (9, 10):
            head = self._byte()
            for _ in range(self._varint() if head >> 4 == 15 else head >> 4):
                self._element(head & 15, depth)
        elif kind == 11:
            count = self._varint()
            kinds = self._byte() if count else 0
            for _ in range(count):
                self._element(kinds >> 4, depth)
                self._element(kinds & 15, depth)
        elif kind == 12:
            while (head := self._byte()) != 0:
                if not head >> 4:
                    self._zigzag()
                self._skip(head & 15, depth - 1)
        else:
            raise IndexError

    def _element(self, kind: int, depth: int) -> None:
        """Of a list or a map, where true and false take a byte."""
        if self.at > len(self.data):
            raise IndexError
        self._skip(3 if kind in (1, 2) else kind, depth - 1)
