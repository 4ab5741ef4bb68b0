"""Write files and folders so that they are complete or absent."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from withhold.core.errors import UserError


@contextmanager
def writing_to(target: Path) -> Iterator[None]:
    """Turn an operating system error about writing `target` into a `UserError`."""
    try:
        yield
    except OSError as error:
        raise UserError(explain_write(error, target)) from error


def explain_write(error: OSError, target: Path) -> str:
    """One line that explains a failed write."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full: {target} could not be written; free some space and run again"
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return f"{target} cannot be written (no permission); choose another -o"
    if isinstance(error, FileNotFoundError):
        return f"folder {target.parent} does not exist, so {target.name} cannot be written there"
    return f"{target} cannot be written: {error.strerror or error}"


def open_new(partial: Path, *, private: bool = False) -> BinaryIO:
    """Open a new temporary file for writing; `private`: only its owner can read it.

    A file left by a killed run is removed. A link in its place is removed too and never followed,
    because that would overwrite the file it points to.
    """
    partial.unlink(missing_ok=True)
    mode = 0o600 if private else 0o666
    return os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb")


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and wait until it is on disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_bytes(target: Path, data: bytes, *, sync: bool = True, private: bool = False) -> None:
    """Write a file under a temporary name and rename it; a kill leaves the old or the new file."""
    write_together({target: data}, sync=sync, private=private)


def write_together(
    contents: Mapping[Path, bytes], *, sync: bool = True, private: bool = False
) -> None:
    """Write several files, then rename them all, so that a full disk changes none.

    `private`: mode 0600, whatever the mode of an older file.
    """
    partials = {target: target.with_name(f".{target.name}.partial") for target in contents}
    try:
        for target, data in contents.items():
            with writing_to(target), open_new(partials[target], private=private) as file:
                file.write(data)
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
        for target, partial in partials.items():
            with writing_to(target):
                os.replace(partial, target)
    except BaseException:
        for partial in partials.values():
            with suppress(OSError):
                partial.unlink(missing_ok=True)
        raise


def refuse_link(folder: Path) -> None:
    """Refuse a working folder that is a link: files would be written to its target."""
    if folder.is_symlink():
        raise UserError(f"{folder} is a link and was not made by withhold; remove it")


def replace_folder(made: Path, target: Path) -> None:
    """Rename the finished folder `made` to `target`, moving an older `target` out of the way.

    A kill between the two renames leaves the older one as `.NAME.old`: see `recover_folder`.
    """
    with writing_to(target):
        recover_folder(target)
        old = _old(target)
        if target.exists():
            os.rename(target, old)
        try:
            os.rename(made, target)
        except OSError:
            recover_folder(target)
            raise
        shutil.rmtree(old, ignore_errors=True)


def recover_folder(target: Path) -> None:
    """Undo or finish a `replace_folder` that was killed: if the new folder is not in place, the
    old one gets its name back; otherwise the old one is deleted."""
    old = _old(target)
    if not old.is_dir():
        return
    if target.exists():
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(old, target)


def _old(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")
