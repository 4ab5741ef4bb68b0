"""Images that another system anonymised (CIAGAN, DeepPrivacy, Fawkes, ...), from a folder.

The system reads the image files of a media set and writes a folder of its own. A file in it belongs
to the original of the same name: the same path below the folder or, where no two originals share a
name, the same file name anywhere in it. Suffixes such as .jpg and .png do not matter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path, PurePosixPath

import numpy as np
import pyarrow as pa

from withhold.core.errors import UserError
from withhold.datasets.sized_pictures import SizedPictures
from withhold.media.cutting import decode
from withhold.records.readers import Collection
from withhold.records.readers.collection import FILE
from withhold.records.readers.media_folder import MediaFolder, stem
from withhold.records.samples import BadMedia, Picture


def anonymised_pictures(original: Collection, folder: Path, ending: str = "") -> SizedPictures:
    """The images of `folder` with labels and record numbers of their originals, at their size.

    `ending` is what the system appends to names, such as `_cloaked` (Fawkes); files without it
    are not used. Originals without an image in the folder are left out. Two images for one
    original are refused: a wrong pair makes a release look private.
    """
    labels = original.labels()
    if labels is None or FILE not in labels.column_names:
        raise UserError(
            f"{original.name} has no file names to match the images of {folder} with; use a media"
            " set that has them, such as adience or celeba"
        )
    listed = MediaFolder.read(folder, "image")
    names = labels[FILE].to_pylist()
    places, paths = [], []
    for place, path in enumerate(_matched(names, listed, ending)):
        if path is not None:
            places.append(place)
            paths.append(path)
    if not paths:
        shown = listed.paths[0]
        raise UserError(
            f"no image of {folder} has the name of an original: the first is {shown}, an original"
            f" is {names[0]}" + (f"; names must end in '{ending}'" if ending else "")
        )
    table = labels.take(pa.array(np.asarray(places, np.int64)))
    bad = {path: why for path, why in listed.bad.items() if path in set(paths)}
    media = MediaFolder(listed.root, "image", tuple(paths), 0, table, bad)
    return SizedPictures(media, _side(original))


def _matched(names: list[str], listed: MediaFolder, ending: str) -> list[str | None]:
    """For each original the path of its image, or None."""
    below: defaultdict[str, list[str]] = defaultdict(list)
    alone: defaultdict[str, list[str]] = defaultdict(list)
    for path in listed.paths:
        name = stem(path)
        if name.endswith(ending):
            name = name.removesuffix(ending)
            below[name].append(path)
            alone[PurePosixPath(name).name].append(path)
    last = [PurePosixPath(name).name for name in names]
    shared = {name for name, count in Counter(last).items() if count > 1}
    found: list[str | None] = []
    for name, short in zip(names, last, strict=True):
        options = below.get(name) or ([] if short in shared else alone.get(short, []))
        if len(options) > 1:
            raise UserError(
                f"{listed.root} has several images for {name}: {options[0]} and {options[1]};"
                " keep one of them, or set `ending`"
            )
        found.append(options[0] if options else None)
    return found


def _side(original: Collection) -> int:
    """The side of the original images, which are squares."""
    for item in original.items():
        if not isinstance(item.content, BadMedia):
            picture = decode(item.content, "image")
            assert isinstance(picture, Picture)
            return len(picture.pixels)
    raise UserError(f"{original.name} has no image that can be read")
