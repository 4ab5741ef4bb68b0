"""Files and folders that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from withhold.errors import UserError


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


def write_bytes(target: Path, data: bytes, *, sync: bool = True) -> None:
    """Write a file under a temporary name and rename it; a kill leaves the old one or the new."""
    partial = target.with_name(f".{target.name}.partial")
    with writing_to(target):
        try:
            with partial.open("wb") as file:
                file.write(data)
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(partial, target)
        except OSError:
            partial.unlink(missing_ok=True)
            raise


def replace_folder(made: Path, target: Path) -> None:
    """Rename the finished folder `made` to `target`, moving an older `target` out of the way."""
    with writing_to(target):
        old = target.with_name(f".{target.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        if target.exists():
            os.rename(target, old)
        os.rename(made, target)
        shutil.rmtree(old, ignore_errors=True)
