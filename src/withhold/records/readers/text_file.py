"""Text files, plain or gzipped: refuse what is not UTF-8, and name the line."""

from __future__ import annotations

import codecs
import gzip
import io
import shlex
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from withhold.core.errors import UserError
from withhold.core.safe_read import open_regular

_STEP = 2**20
# UTF-32 before UTF-16, whose mark its own begins with.
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_FORMATS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook (.xlsx)",
    b"PAR1": "a Parquet file (.parquet)",
    b"\x1f\x8b": "compressed with gzip (.gz)",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls)",
}


def is_packed(path: Path) -> bool:
    """Whether the name says that a file is gzipped."""
    return path.name.lower().endswith(".gz")


def open_bytes(path: Path) -> BinaryIO:
    """The bytes of a regular file, unpacked."""
    raw = open_regular(path)
    return cast(BinaryIO, _Unpacked(raw) if is_packed(path) else raw)


def open_text(path: Path) -> TextIO:
    """The text of a file for a second look: bytes that are not UTF-8 are replaced."""
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", errors="replace", newline="")


def first_bytes(path: Path, count: int = _STEP) -> bytes:
    """The first bytes of a file, unpacked; a UserError if they show that it is not UTF-8 text."""
    with open_bytes(path) as file:
        head = file.read(count)
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            raise UserError(
                f"{path} is text in {encoding}; save it as UTF-8{_convert(path, encoding)}"
            )
    for start, what in _FORMATS.items():
        if head.startswith(start):
            raise UserError(f"{path} is not text but {what}; give it the suffix of its format")
    if b"\0" in head[: 2**12]:
        raise UserError(f"{path} is not text in UTF-8 (it has zero bytes); save it as UTF-8")
    return head


def not_utf8(path: Path) -> UserError:
    """The error for a file with bytes that are not UTF-8, with the line of the first."""
    return UserError(
        f"{path} is not text in UTF-8{_where(path)}; save it as UTF-8"
        f"{_convert(path, 'WINDOWS-1252')}"
    )


def _convert(path: Path, encoding: str) -> str:
    """How to convert a file that is not compressed; most that are not UTF-8 are from Windows."""
    if is_packed(path):
        return ""
    new = shlex.quote(f"{path.stem}-utf8{path.suffix}")
    return f", or convert it: iconv -f {encoding} -t UTF-8 {shlex.quote(str(path))} > {new}"


def _where(path: Path) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    try:
        with open_bytes(path) as file:
            while data := file.read(_STEP):
                try:
                    decoder.decode(data)
                except UnicodeDecodeError as error:
                    # `start` counts from the bytes that the decoder kept of the last step.
                    bad = error.object[error.start]
                    line += error.object[: error.start].count(b"\n")
                    return f" (line {line} has the byte 0x{bad:02x})"
                line += data.count(b"\n")
    except (OSError, EOFError):
        pass
    return ""


class _Unpacked(gzip.GzipFile):
    """A gzip stream that closes the file below it."""

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__(fileobj=raw, mode="rb")
        self._below = raw

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._below.close()
