"""Files and folders that are there whole or not at all."""

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
    """Turn what an operating system says about writing `target` into a user's error."""
    try:
        yield
    except OSError as error:
        raise UserError(explain_write(error, target)) from error


def explain_write(error: OSError, target: Path) -> str:
    """One line for a write that failed."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full: {target} could not be written; free some space and run again"
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return f"{target} cannot be written (no permission); choose another -o"
    if isinstance(error, FileNotFoundError):
        return f"folder {target.parent} does not exist, so {target.name} cannot be written there"
    return f"{target} cannot be written: {error.strerror or error}"


def open_new(partial: Path, *, private: bool = False) -> BinaryIO:
    """Open a file of ours for writing that is not there yet; `private`: for its owner alone.

    What a killed run left is removed. A link that somebody put in its place is removed too, and
    never followed: the file that it leads to would be overwritten.
    """
    partial.unlink(missing_ok=True)
    mode = 0o600 if private else 0o666
    return os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb")


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and wait until the disk has it."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_bytes(target: Path, data: bytes, *, sync: bool = True, private: bool = False) -> None:
    """Write a file under a temporary name and rename it; a kill leaves the old one or the new."""
    write_together({target: data}, sync=sync, private=private)


def write_together(
    contents: Mapping[Path, bytes], *, sync: bool = True, private: bool = False
) -> None:
    """Write several files, and rename them when all are written: a full disk changes none.

    `private`: mode 0600, whatever an older file had.
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
    """Refuse a working folder that is a link: files would be written to wherever it leads."""
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
    """Undo, or finish, a `replace_folder` that was killed: the older folder gets its name back
    where the newer one did not take it, and else goes."""
    old = _old(target)
    if not old.is_dir():
        return
    if target.exists():
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(old, target)


def _old(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")
