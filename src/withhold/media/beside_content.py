"""What a file holds beside its picture or sound: comments, tags, private chunks, spare bytes.

Readers ignore what they do not know, but whoever gets the file has it. The parts of PNG, JPEG and
RIFF (WAV, WebP) files are listed here from the bytes; of other formats we know what Pillow says.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping
from typing import Any

MOST = 1 << 26  # bytes of a file that are looked at
_LETTERS = 200  # of each part that are kept; a hash stands for all of it
_PNG, _JPEG, _RIFF = b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"RIFF"
# Parts that hold the picture or the sound itself, or what is needed to decode it.
_OF_PNG = {b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS"}
_OF_RIFF = {b"fmt ", b"data", b"fact", b"PEAK", b"VP8 ", b"VP8L", b"VP8X", b"ALPH"}
_APP, _COMMENT, _SCAN, _END = range(0xE0, 0xF0), 0xFE, 0xDA, 0xD9

Part = tuple[str, bytes]


def beside_content(data: bytes, said: Mapping[str, Any]) -> str:
    """A text with every part of a file that is not its content; `said`: what a reader reports."""
    parts = [*_parts(data)]
    parts += [(str(key), _bytes(said[key])) for key in sorted(said, key=str)]
    return "; ".join(f"{name}: {_text(value)}" for name, value in parts)


def _parts(data: bytes) -> Iterator[Part]:
    if data.startswith(_PNG):
        yield from _png(data)
    elif data.startswith(_JPEG):
        yield from _jpeg(data)
    elif data.startswith(_RIFF):
        yield from _riff(data)


def _png(data: bytes) -> Iterator[Part]:
    at = len(_PNG)
    while at + 12 <= len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind not in _OF_PNG:
            yield kind.decode("latin-1"), data[at + 8 : at + 8 + length]
        at += 12 + length
        if kind == b"IEND":
            break
    if data[at:]:
        yield "spare bytes", data[at:]


def _jpeg(data: bytes) -> Iterator[Part]:
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        if marker in _APP or marker == _COMMENT:
            yield f"segment {marker:x}", data[at + 4 : at + 2 + length]
        at += 2 + length
        if marker == _SCAN:
            break
    # Inside a scan, 0xFF is followed by 0 or by a restart marker, so this is the end of the last.
    end = data.rfind(bytes([0xFF, _END]))
    if 0 <= end < len(data) - 2:
        yield "spare bytes", data[end + 2 :]


def _riff(data: bytes) -> Iterator[Part]:
    at = 12
    while at + 8 <= len(data):
        kind, length = struct.unpack("<4sI", data[at : at + 8])
        if kind not in _OF_RIFF:
            yield kind.decode("latin-1"), data[at + 8 : at + 8 + length]
        at += 8 + length + length % 2


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _text(value: bytes) -> str:
    """The beginning in letters, other bytes as numbers, and a hash of all of it."""
    start = value[:_LETTERS].decode("latin-1")
    shown = "".join(c if c.isprintable() else f"\\{ord(c):02x}" for c in start)
    return f"{shown} ({hashlib.sha256(value).hexdigest()[:8]})"
