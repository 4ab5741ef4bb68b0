"""The part of Thrift's compact protocol that is needed to read a few numbers from Parquet headers.

A struct is a sequence of fields and a zero byte. The head of a field has its kind in the low four
bits, and in the high four bits the difference to the number of the previous field. If the
difference is 0, the number of the field follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_DEEPEST = 32
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)


class Compact:
    """A reader of bytes; ValueError if they are invalid.

    `at` is the position of the next byte.
    """

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self, wanted: Mapping[int, tuple[int, Callable[[], Any]]]) -> dict[int, Any]:
        """The wanted fields of a struct, given as {number: (kind, reader)}. Others are skipped."""
        found: dict[int, Any] = {}
        field = 0
        while (head := self.byte()) != 0:
            step, kind = head >> 4, head & 15
            field = field + step if step else self.integer()
            asked = wanted.get(field)
            if asked is not None and asked[0] == kind:
                found[field] = asked[1]()
            else:
                self.skip(kind)
        return found

    def structs(self, read: Callable[[], Any]) -> list[Any]:
        """A list of structs."""
        count, kind = self._list_head()
        if kind != STRUCT and count:
            raise ValueError("a list of structs was expected")
        return [read() for _ in range(count)]

    def byte(self) -> int:
        """One byte."""
        if self.at >= len(self.data):
            raise ValueError("it ends early")
        self.at += 1
        return self.data[self.at - 1]

    def integer(self) -> int:
        """A signed integer, zigzag."""
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)

    def skip(self, kind: int, depth: int = _DEEPEST) -> None:
        """Skip a value."""
        if depth == 0:
            raise ValueError("it is nested too deeply")
        if kind in (TRUE, FALSE):
            return  # the value is in the head of the field
        if kind in (I16, I32, I64):
            self._unsigned()
        elif kind in (BYTE, DOUBLE, BINARY):
            length = 1 if kind == BYTE else 8 if kind == DOUBLE else self._unsigned()
            self.at += length
        elif kind in (LIST, SET):
            count, inner = self._list_head()
            for _ in range(count):
                self._skip_element(inner, depth)
        elif kind == MAP:
            count = self._unsigned()
            kinds = self.byte() if count else 0
            for _ in range(count):
                self._skip_element(kinds >> 4, depth)
                self._skip_element(kinds & 15, depth)
        elif kind == STRUCT:
            while (head := self.byte()) != 0:
                if not head >> 4:
                    self._unsigned()
                self.skip(head & 15, depth - 1)
        else:
            raise ValueError(f"there is no kind {kind}")

    def _skip_element(self, kind: int, depth: int) -> None:
        if self.at >= len(self.data):  # otherwise a count of billions would be read to its end
            raise ValueError("it ends early")
        # In a list or a map, true and false take a byte.
        self.skip(BYTE if kind in (TRUE, FALSE) else kind, depth - 1)

    def _list_head(self) -> tuple[int, int]:
        head = self.byte()
        return (self._unsigned() if head >> 4 == 15 else head >> 4), head & 15

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self.byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("an integer is too long")
        return value | byte << shift
