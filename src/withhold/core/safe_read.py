"""Read files that may be hostile: regular files only, and never more than a stated size.

Code that reads a file named by a user or by another file starts here. A device, a pipe or a socket
may be endless, and a document of a few bytes may describe a tree of any depth. Both are refused
before they cost memory or time.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any

from withhold.core.errors import UserError

MOST_DEPTH = 64  # of a JSON or YAML document
_DEEP = f"it is nested more than {MOST_DEPTH} levels deep"
_ODD = {
    stat.S_ISCHR: "it is a device, not a file",
    stat.S_ISBLK: "it is a device, not a file",
    stat.S_ISFIFO: "it is a pipe, not a file",
    stat.S_ISSOCK: "it is a socket, not a file",
}


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading; links are followed, anything else is an OSError.

    A pipe is not opened, because that would wait for a writer. The open file is checked again, in
    case the path changed in between. The error's `strerror` says what is wrong, as it does for a
    missing file.
    """
    try:
        _check_kind(os.stat(path).st_mode, path)
        file = path.open("rb")
    except ValueError as error:
        raise OSError(errno.EINVAL, "its name contains a zero byte", str(path)) from error
    try:
        _check_kind(os.fstat(file.fileno()).st_mode, path)
    except BaseException:
        file.close()
        raise
    return file


def check_regular(path: Path) -> os.stat_result:
    """The status of a regular file, for a library that opens the path itself."""
    with open_regular(path) as file:
        return os.fstat(file.fileno())


def file_sha256(path: Path) -> str:
    """The SHA-256 of a regular file, as `sha256sum` prints it."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_bounded(path: Path, most: int) -> bytes:
    """All of a regular file of at most `most` bytes; an OSError for anything else."""
    with open_regular(path) as file:
        # Python allocates as much as requested, so request no more than the file has.
        data = file.read(min(most, os.fstat(file.fileno()).st_size) + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
    return data


def read_json(path: Path, most: int) -> Any:
    """The document of a JSON file of at most `most` bytes; see `parse_json`."""
    try:
        return parse_json(read_bounded(path, most), str(path))
    except FileNotFoundError as error:
        raise UserError(f"{path} cannot be read: there is no such file") from error


def parse_json(data: bytes | str, name: str) -> Any:
    """A JSON document in UTF-8, of at most MOST_DEPTH levels; `name` is for the message."""
    try:
        found = json.loads(data if isinstance(data, str) else data.decode("utf-8"))
        check_document(found, name)
    except UserError:
        raise
    except UnicodeError as error:
        raise UserError(f"{name} is not JSON: it is not text in UTF-8") from error
    except RecursionError as error:
        raise UserError(f"{name} is not JSON: {_DEEP}") from error
    except ValueError as error:
        raise UserError(f"{name} is not JSON: {reason(error)}") from error
    return found


def check_document(found: Any, name: str) -> None:
    """Refuse a document that is nested too deeply, or whose text cannot be encoded (half of a
    surrogate pair, which an escape can write). This function does not recurse."""
    level = [found]
    for _ in range(MOST_DEPTH + 1):
        below: list[Any] = []
        for one in level:
            if isinstance(one, str):
                one.encode("utf-8")
            elif isinstance(one, dict):
                below += one.keys()
                below += one.values()
            elif isinstance(one, list):
                below += one
        if not below:
            return
        level = below
    raise UserError(f"{name} is not JSON: {_DEEP}")


def reason(error: BaseException) -> str:
    """One line that explains an error."""
    lines = (getattr(error, "strerror", None) or str(error)).strip().splitlines()
    return lines[0].rstrip(".")[:200] if lines else type(error).__name__


def _check_kind(mode: int, path: Path) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "Is a directory, not a file", str(path))
    if not stat.S_ISREG(mode):
        said = next(
            (words for test, words in _ODD.items() if test(mode)), "it is not a regular file"
        )
        raise OSError(errno.EINVAL, said, str(path))
