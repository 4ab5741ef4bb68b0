"""Where results go: refused before any work is done, written all or none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from withhold.core.atomic import write_together, writing_to
from withhold.core.errors import UserError


def check_target(path: Path, *inputs: Path) -> None:
    """Refuse an output that cannot be written, or that is an input, before any work is done."""
    for given in inputs:
        if same_file(path, given):
            raise UserError(f"{path} is the input; choose another -o")
    parent = path.absolute().parent
    if not parent.is_dir():
        raise UserError(
            f"folder {path.parent} does not exist, so {path.name} cannot be made there;"
            " make it, or choose another -o"
        )
    _check_writable(parent, path.parent)


def check_folder_target(path: Path) -> None:
    """Refuse an output folder that is not there and cannot be made, before any work is done."""
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file; -o names a folder")
    nearest = next(p for p in (path.absolute(), *path.absolute().parents) if p.exists())
    if not nearest.is_dir():
        raise UserError(f"folder {path} cannot be made: {nearest} is a file; choose another -o")
    _check_writable(nearest, nearest)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are not there."""
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)


def write_into(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into a folder, all or none; the folder is made, and unmade where that fails."""
    absent = [p for p in (folder, *folder.parents) if not p.exists()]
    make_folder(folder)
    try:
        write_together({folder / name: data for name, data in contents.items()})
    except BaseException:
        for made in absent:
            made.rmdir()
        raise


def _check_writable(folder: Path, shown: Path) -> None:
    # A read-only file system refuses root too, which `access` knows.
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"folder {shown} cannot be written (no permission); choose another -o")


def same_file(a: Any, b: Any) -> bool:
    """Whether two paths lead to one file, so that a release never replaces its own input.

    A frame in memory is never the same file as anything.
    """
    if not (isinstance(a, str | os.PathLike) and isinstance(b, str | os.PathLike)):
        return False
    try:
        return os.path.samefile(a, b)
    except OSError:
        return os.path.realpath(a) == os.path.realpath(b)
