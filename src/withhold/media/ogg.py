"""Ogg files with a fixed number: encoders draw the number of a stream, so that no two are alike.

A page: OggS, version, flags, place (8 bytes), serial (4, at 14), sequence (4), checksum (4, at 22),
how many lengths, the lengths, the body. The checksum is CRC-32 of polynomial 0x04c11db7, neither
reflected nor inverted, over the page with its own field zero.
"""

from __future__ import annotations

from functools import cache

_SERIAL, _CHECKSUM, _COUNT, _HEADER = 14, 22, 26, 27


def with_serial(data: bytes, serial: int = 1) -> bytes:
    """The same file, every page with that serial number; it must hold one stream of whole pages."""
    out, at = bytearray(data), 0
    while at < len(out):
        body = at + _HEADER + sum(out[at + _COUNT : at + _HEADER])
        end = body + sum(out[at + _HEADER : body])
        if out[at : at + 4] != b"OggS" or end > len(out):
            raise ValueError(f"byte {at} begins no whole page of Ogg")
        out[at + _SERIAL : at + _SERIAL + 4] = serial.to_bytes(4, "little")
        out[at + _CHECKSUM : at + _CHECKSUM + 4] = bytes(4)
        checksum = _crc(bytes(out[at:end]))
        out[at + _CHECKSUM : at + _CHECKSUM + 4] = checksum.to_bytes(4, "little")
        at = end
    return bytes(out)


def _crc(page: bytes) -> int:
    table, crc = _table(), 0
    for byte in page:
        crc = (crc << 8 & 0xFFFFFFFF) ^ table[crc >> 24 ^ byte]
    return crc


@cache
def _table() -> tuple[int, ...]:
    found = []
    for value in range(256):
        crc = value << 24
        for _ in range(8):
            crc = crc << 1 & 0xFFFFFFFF ^ (0x04C11DB7 if crc & 0x80000000 else 0)
        found.append(crc)
    return tuple(found)
