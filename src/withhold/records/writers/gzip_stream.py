"""The stream of a text format: the file itself, or gzip into it."""

from __future__ import annotations

import gzip
from typing import BinaryIO, cast


def packed_stream(file: BinaryIO, name: str) -> BinaryIO:
    """`file`, or a gzip stream into it if `name` ends in `.gz`.

    The gzip header has no time stamp and no name, so that the bytes depend on the rows alone.
    """
    if not name.lower().endswith(".gz"):
        return file
    return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))
