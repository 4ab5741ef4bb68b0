"""The file of a form, streamed: no part of it is kept in memory or in a shared temporary folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from email.message import Message

from fastapi import Request
from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError

from withhold.server.problems import Problem

_MOST_HEADERS = 16_384  # bytes of a header of a part
_MOST_BEFORE = 2**20  # bytes before the file


class FormFile:
    """The first file of a `multipart/form-data` body: its name, then its bytes."""

    def __init__(self, request: Request) -> None:
        kind = Message()
        kind["content-type"] = request.headers.get("content-type", "")
        boundary = kind.get_param("boundary")
        if kind.get_content_type() != "multipart/form-data" or not isinstance(boundary, str):
            raise Problem(422, "this is not a form with a file")
        self.name: str | None = None
        self._body = request.stream()
        self._field = self._value = b""
        self._parts: list[bytes] = []
        self._ended = self._in_file = False
        self._head = Message()
        try:
            self._parser = MultipartParser(
                boundary.encode("latin-1", "replace"),
                {
                    "on_header_field": self._on_field,
                    "on_header_value": self._on_value,
                    "on_header_end": self._on_header,
                    "on_headers_finished": self._on_headers,
                    "on_part_data": self._on_data,
                    "on_part_end": self._on_end,
                },
            )
        except FormParserError as error:  # of a boundary that is too long
            raise Problem(422, "this is not a form with a file") from error

    async def open(self) -> str:
        """Read up to the beginning of the file; returns the name that the client gave it."""
        size = 0
        while self.name is None:
            chunk = await anext(self._body, b"")
            size += len(chunk)
            self._feed(chunk)
            if not chunk or (self.name is None and size > _MOST_BEFORE):
                raise Problem(422, "the form has no file")
        return self.name

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes of the file, as they arrive."""
        while True:
            for part in self._taken():
                yield part
            if self._ended:
                break
            chunk = await anext(self._body, b"")
            if not chunk:
                raise Problem(422, "the form ended within the file")
            self._feed(chunk)
        async for _ in self._body:  # whatever follows the file
            pass

    def _taken(self) -> list[bytes]:
        held, self._parts = self._parts, []
        return held

    def _feed(self, chunk: bytes) -> None:
        try:
            self._parser.write(chunk)
        except FormParserError as error:
            raise Problem(422, "this is not a form with a file") from error

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]
        self._check_header()

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]
        self._check_header()

    def _check_header(self) -> None:
        if len(self._field) + len(self._value) > _MOST_HEADERS:
            raise Problem(422, "this is not a form with a file")

    def _on_header(self) -> None:
        if self._field.lower() == b"content-disposition" and self.name is None:
            self._head = Message()
            self._head["content-disposition"] = self._value.decode("utf-8", "replace")
        self._field = self._value = b""

    def _on_headers(self) -> None:
        if self.name is None and self._head.get_filename() is not None:
            self.name, self._in_file = self._head.get_filename(), True

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self._parts.append(data[start:end])

    def _on_end(self) -> None:
        self._ended = self._ended or self._in_file
        self._in_file = False
