"""A zip of files as a stream of bytes, so that no archive lies on disk or in memory."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from io import RawIOBase
from pathlib import Path
from typing import Any

_CHUNK = 2**18
_DATE = (1980, 1, 1, 0, 0, 0)  # the same for all files, so that the bytes are the same


def zip_stream(files: Mapping[str, Path], folder: str) -> Iterator[bytes]:
    """The bytes of an archive with these files inside a folder."""
    out = _Pipe()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in files.items():
            entry = zipfile.ZipInfo(f"{folder}/{name}", _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.file_size = path.stat().st_size  # large files need the zip64 form
            with path.open("rb") as source, archive.open(entry, "w") as target:
                while chunk := source.read(_CHUNK):
                    target.write(chunk)
                    yield from out.taken()
    yield from out.taken()


class _Pipe(RawIOBase):
    """Where the archive is written to; cannot seek, so that zipfile writes forwards only."""

    def __init__(self) -> None:
        self._held: list[bytes] = []

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def write(self, data: Any, /) -> int:
        self._held.append(bytes(data))
        return len(data)

    def taken(self) -> list[bytes]:
        """What was written since the last call."""
        held, self._held = [data for data in self._held if data], []
        return held
