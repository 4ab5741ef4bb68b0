"""Open any collection of media."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from withhold.core.errors import UserError, did_you_mean
from withhold.records.readers.collection import Collection
from withhold.records.readers.media_folder import MediaFolder
from withhold.records.readers.media_table import MediaTable
from withhold.records.readers.pixel_arrays import PixelArrays
from withhold.records.samples import Kind, kind_of


def open_media(
    path: str | Path,
    kind: Kind,
    *,
    pattern: str | None = None,
    column: str | None = None,
    rate: int | None = None,
    stills: bool = True,
    names: str | Path | None = None,
    allow_outside: bool = False,
) -> Collection:
    """Open a folder, a table (Parquet, CSV) of paths or bytes, or an npz of pixels.

    `pattern` reads labels from file names in a folder. `column` is the column of a table with the
    media. `rate` is the sample rate of raw sound. With `stills`, images in a folder count as clips.
    `names` is the list that a release wrote beside its folder: files get their original names.
    Unless `allow_outside`, a table may only name files below its own folder, and links that lead
    out of a folder are skipped and listed.
    """
    if not isinstance(path, str | Path):
        raise UserError(
            f"media are read from files, not from a {type(path).__name__}: write the table to a CSV"
            " or Parquet file beside them, and name that file"
        )
    path = Path(path)
    if pattern is not None or names is not None:
        _require_there(path)
    if path.is_dir():
        if column is not None:
            raise UserError(f"{path} is a folder and has no column '{column}'; leave out --column")
        return MediaFolder.read(
            path, kind, pattern, stills=stills, names=names, allow_outside=allow_outside
        )
    if names is not None:
        raise UserError(f"--names is for a folder of files; {path} is not a folder")
    if pattern is not None:
        raise UserError(f"--pattern reads file names in a folder; {path} is not a folder")
    _require_there(path)
    if kind_of(path.name) is not None:
        raise UserError(
            f"{path} is one file of media; name its folder, or a table (Parquet, CSV) of paths"
        )
    if path.suffix.lower() == ".npz":
        return PixelArrays.read(path, kind, column=column)
    return MediaTable.read(path, kind, column=column, rate=rate, allow_outside=allow_outside)


def _require_there(path: Path) -> None:
    if not path.exists() and not path.is_symlink():
        near = path.parent.iterdir() if path.parent.is_dir() else ()
        hint = did_you_mean(path.name, [p.name for p in near])
        raise UserError(f"no such file or folder: {path}{hint}")


def kind_of_folder(path: str | Path) -> Kind:
    """The kind of most media files of a folder, by their suffixes."""
    counts = Counter(kind_of(name) for _, _, names in os.walk(path) for name in names)
    media = [(n, kind) for kind, n in counts.items() if kind is not None]
    if not media:
        raise UserError(
            f"{path} is a folder without media (images, sounds, clips, texts); name a file, or a"
            " folder of media"
        )
    return max(media)[1]
