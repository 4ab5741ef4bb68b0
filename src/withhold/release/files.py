"""The files of a release: made in a folder beside it, and put in their places together."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from withhold.atomic import writing_to
from withhold.data.files.sink import check_sink
from withhold.media.folder_sink import DATE


@contextmanager
def making(output: Path) -> Iterator[Path]:
    """A folder `.NAME.partial` beside the release to make its files in.

    The files that are in it when the block ends get their places beside the release, the release
    itself last; an exception leaves whatever stood there before. Files get one date: when a release
    was made is nobody's business.
    """
    check_sink(output)
    final = Path(os.path.realpath(output))
    work = final.with_name(f".{final.name}.partial")
    with writing_to(output):
        _remove(work)  # of a killed run
        work.mkdir()
    try:
        yield work
        made = sorted(work.iterdir(), key=lambda path: path.name == final.name)
        with writing_to(output):
            for path in made:
                os.utime(path, (DATE, DATE))
                os.replace(path, final.with_name(path.name))
    finally:
        _remove(work)


def sha256_of(path: Path) -> str:
    """What `sha256sum` prints for a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
