"""CelebA (Liu et al., 2015) from the folder that its authors, or Kaggle, publish.

img_align_celeba/000001.jpg ...   also img_align_celeba/img_align_celeba/ (Kaggle)
list_attr_celeba.txt              the number of files; the names; -1 or 1 (or .csv)
list_eval_partition.txt           0 train, 1 val, 2 test (or .csv)
identity_CelebA.txt               optional: the person in each file
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
from pydantic import Field

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.datasets.label_lists import Line, find_list, read_lines
from withhold.datasets.media_file import MediaFile, some_records
from withhold.datasets.media_set import MediaSet
from withhold.datasets.public import data_folder
from withhold.datasets.sized_pictures import Crop, SizedPictures, write_pictures
from withhold.records.dataset import Dataset
from withhold.records.readers import Collection
from withhold.records.readers.collection import FILE
from withhold.records.readers.media_folder import MediaFolder

PARTS = ("train", "val", "test")
IMAGES = "img_align_celeba"


def read_celeba(
    folder: str | Path, *, side: int | None = None, crop: Crop = "whole", most: int | None = None
) -> Dataset:
    """The images with their attributes (yes or no), the official split, and `identity` if known.

    With `side` they become squares of that many pixels: Martinsson et al. resize the whole image
    (218 x 178) to 64 or 128. `most` takes that many at random. Images are read when needed.
    """
    media = _listed(Path(folder), most)
    return Dataset.of_media(media if side is None else SizedPictures(media, side, crop))


class CelebaSet(MediaSet):
    """CelebA from $WITHHOLD_DATA/celeba, or from another folder, as squares."""

    folder: str | None = Field(None, description="with the images and lists")
    side: int = Field(64, ge=16, le=512, description="pixels")
    crop: Crop = Field("whole", description="squeeze the whole image, or cut a square from it")

    def write(
        self, folder: Path, most: int | None, *, progress: Progress | None = None
    ) -> MediaFile:
        """Write the images and labels to a Parquet file."""
        source = Path(self.folder) if self.folder else data_folder() / "celeba"
        media = SizedPictures(_listed(source, most), self.side, self.crop)
        target = folder / f"celeba-{self.side}px.parquet"
        return write_pictures(media, target, progress=progress)


def _listed(folder: Path, most: int | None) -> Collection:
    path = find_list(folder, "list_attr_celeba.txt", "list_attr_celeba.csv")
    names, lines = _attributes(path)
    labels = {line.cells[0]: line for line in lines}
    parts = _one_label(find_list(folder, "list_eval_partition.txt", "list_eval_partition.csv"))
    who = folder / "identity_CelebA.txt"
    people = _one_label(who) if who.exists() else {}
    root, present = _images(folder)
    files = list(labels)
    chosen = [files[i] for i in some_records(len(files), most)]
    for file in chosen:
        if file not in present:
            raise labels[file].error(f"the image {root / file} is not there")
        if file not in parts:
            raise labels[file].error(f"{file} has no part in the list of the official split")
    values = np.array([[cell == "1" for cell in labels[file].cells[1:]] for file in chosen])
    columns: dict[str, pa.Array] = {FILE: pa.array([Path(file).stem for file in chosen])}
    for name, column in zip(names, np.where(values, "yes", "no").T, strict=True):
        columns[name] = pa.array(column.tolist())
    if people:
        found = [people.get(file) for file in chosen]
        columns["identity"] = pa.array([None if line is None else line.cells[1] for line in found])
    columns["split"] = pa.array([_part(parts[file]) for file in chosen])
    return MediaFolder(root, "image", tuple(chosen), 0, pa.table(columns))


def _attributes(path: Path) -> tuple[list[str], list[Line]]:
    """The names of the attributes, and the line of each file, checked."""
    lines = read_lines(path)
    head = next(lines, None)
    if head is None:
        raise UserError(f"{path} is empty")
    count = None
    if path.suffix.lower() == ".csv":
        names = head.cells[1:]  # the first is image_id
    else:
        if len(head.cells) != 1 or not head.cells[0].isdigit():
            raise head.error("expected the number of images")
        count = int(head.cells[0])
        second = next(lines, None)
        if second is None:
            raise head.error("the line with the names of the attributes is missing")
        names = second.cells
    found = list(_checked(lines, names))
    if count is not None and count != len(found):
        raise UserError(f"{path}, line 1: says {count:,} images, but {len(found):,} are listed")
    if not found:
        raise UserError(f"{path} lists no images")
    return names, found


def _checked(lines: Iterator[Line], names: list[str]) -> Iterator[Line]:
    seen: set[str] = set()
    for line in lines:
        if len(line.cells) != len(names) + 1:
            raise line.error(
                f"expected a file and {len(names)} values, found {len(line.cells) - 1} values"
            )
        wrong = next((cell for cell in line.cells[1:] if cell not in ("1", "-1")), None)
        if wrong is not None:
            name = names[line.cells.index(wrong) - 1]
            raise line.error(f"'{name}' must be 1 or -1, not '{wrong}'")
        if line.cells[0] in seen:
            raise line.error(f"{line.cells[0]} is listed twice")
        seen.add(line.cells[0])
        yield line


def _one_label(path: Path) -> dict[str, Line]:
    """A list with a file and one number in each line."""
    lines = read_lines(path)
    first = next(lines, None)
    if first is None:
        raise UserError(f"{path} is empty")
    has_header = not first.cells[-1].isdigit()
    found = {}
    for line in lines if has_header else chain([first], lines):
        if len(line.cells) != 2 or not line.cells[1].isdigit():
            raise line.error("expected a file and a number")
        found[line.cells[0]] = line
    return found


def _part(line: Line) -> str:
    if line.cells[1] not in ("0", "1", "2"):
        raise line.error(f"a part is 0, 1 or 2, not {line.cells[1]}")
    return PARTS[int(line.cells[1])]


def _images(folder: Path) -> tuple[Path, frozenset[str]]:
    """The folder with the images, and the names in it."""
    root = folder / IMAGES
    if (root / IMAGES).is_dir():
        root = root / IMAGES
    try:
        return root, frozenset(os.listdir(root))
    except OSError as error:
        said = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise UserError(f"cannot read {root}: {said}") from error
