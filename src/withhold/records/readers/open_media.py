"""One door to every collection."""

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
    """A folder, a table (Parquet, CSV) of paths or bytes, or an npz of pixels.

    `pattern` takes labels from the names in a folder; `column` is where a table holds the media;
    `rate` is that of bare samples; with `stills`, a folder's images are clips that stand still.
    `names` is the list that a release left beside its folder: files get their old names back.
    A table may only name files below its own folder, and links in a folder that lead out of it are
    skipped and listed, unless `allow_outside`.
    """
    path = Path(path)
    if path.is_dir():
        if column is not None:
            raise UserError(f"{path} is a folder and has no column '{column}'")
        return MediaFolder.read(
            path, kind, pattern, stills=stills, names=names, allow_outside=allow_outside
        )
    if names is not None:
        raise UserError(f"--names gives files of a folder their old names; {path} is none")
    if pattern is not None:
        raise UserError(f"--pattern reads the names of files in a folder; {path} is none")
    if not path.exists() and not path.is_symlink():
        near = path.parent.iterdir() if path.parent.is_dir() else ()
        hint = did_you_mean(path.name, [p.name for p in near])
        raise UserError(f"no such file or folder: {path}{hint}")
    if kind_of(path.name) is not None:
        raise UserError(
            f"{path} is one file of media; name its folder, or a table (Parquet, CSV) of paths"
        )
    if path.suffix.lower() == ".npz":
        return PixelArrays.read(path, kind, column=column)
    return MediaTable.read(path, kind, column=column, rate=rate, allow_outside=allow_outside)


def kind_of_folder(path: str | Path) -> Kind:
    """The kind of media that most files of a folder are, by their names."""
    counts = Counter(kind_of(name) for _, _, names in os.walk(path) for name in names)
    media = [(n, kind) for kind, n in counts.items() if kind is not None]
    if not media:
        raise UserError(
            f"{path} is a folder without media (images, sounds, clips, texts); name a file, or a"
            " folder of media"
        )
    return max(media)[1]
