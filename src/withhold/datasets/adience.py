"""Adience (Eidinger et al., 2014) from the folder that its authors publish.

    fold_0_data.txt ... fold_4_data.txt   user_id, original_image, face_id, age, gender, ...
    aligned/USER/landmark_aligned_face.FACE.IMAGE
    faces/USER/coarse_tilt_aligned_face.FACE.IMAGE

A person is a `face_id`. Ages are the eight official groups. A few lines have another age: a year
or a range that lies in one group counts as that group, such as "(27, 32)" (25-32), "(38, 42)"
(38-43), "2" and "29"; all others are missing, such as "35", "(38, 48)", "(8, 23)" and "None".
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.datasets.label_lists import Line, find_list, read_lines
from withhold.datasets.media_file import MediaFile
from withhold.datasets.media_set import MediaSet
from withhold.datasets.public import data_folder
from withhold.datasets.sized_pictures import SizedPictures, write_pictures
from withhold.records.dataset import Dataset
from withhold.records.readers import Collection
from withhold.records.readers.collection import FILE
from withhold.records.readers.media_folder import MediaFolder, stem

AGES = ((0, 2), (4, 6), (8, 12), (15, 20), (25, 32), (38, 43), (48, 53), (60, 100))
GENDERS = {"m": "male", "f": "female"}
FOLDS = 5
Images = Literal["aligned", "faces"]
# `within`: the images of each person alternate between train and test, which identification needs.
# `folds`: fold 3 is val and fold 4 is test; no person is in two folds.
SplitBy = Literal["within", "folds"]
_PREFIX: dict[Images, str] = {
    "aligned": "landmark_aligned_face",
    "faces": "coarse_tilt_aligned_face",
}
_COLUMNS = ("user_id", "original_image", "face_id", "age", "gender")


def read_adience(
    folder: str | Path,
    *,
    images: Images = "aligned",
    split: SplitBy = "within",
    least: int = 2,
    side: int | None = None,
    most: int | None = None,
) -> Dataset:
    """The images with `identity`, `age`, `gender`, `fold` and a split, read when needed.

    People with fewer than `least` images are left out; `most` takes all images of random people,
    as many as fit. With `side` the images become squares of that many pixels.
    """
    media = _listed(Path(folder), images, split, least, most)
    return Dataset.of_media(media if side is None else SizedPictures(media, side))


class AdienceSet(MediaSet):
    """Adience from $WITHHOLD_DATA/adience, or from another folder, as squares.

    MaSS does not say which 5,340 images of 1,089 people it used. Its parts (2,815 and 2,525) agree
    with images that alternate within each person, the default here.
    """

    folder: str | None = Field(None, description="with the images and fold files")
    images: Images = Field("aligned", description="which of the two folders of images")
    split: SplitBy = "within"
    least: int = Field(2, ge=1, description="images that a person must have")
    side: int = Field(160, ge=16, le=816, description="pixels; FaceNet takes 160")

    def write(
        self, folder: Path, most: int | None, *, progress: Progress | None = None
    ) -> MediaFile:
        """Write the images and labels to a Parquet file."""
        source = Path(self.folder) if self.folder else data_folder() / "adience"
        media = _listed(source, self.images, self.split, self.least, most)
        target = folder / f"adience-{self.images}-{self.side}px.parquet"
        return write_pictures(SizedPictures(media, self.side), target, progress=progress)


@dataclass(frozen=True)
class _ListedFace:
    line: Line
    path: str  # below the folder of images
    identity: str
    age: str | None
    gender: str | None
    fold: int


def age_group(text: str) -> str | None:
    """The official group in which a year or a range of years lies; None if it lies in none.

    >>> age_group("(25, 32)"), age_group("(27, 32)"), age_group("29"), age_group("35")
    ('25-32', '25-32', '25-32', None)
    """
    years = re.fullmatch(r"\((\d+), ?(\d+)\)|(\d+)", text)
    if years is None:
        return None
    first, last = int(years[1] or years[3]), int(years[2] or years[3])
    inside = (f"{low}-{high}" for low, high in AGES if low <= first <= last <= high)
    return next(inside, None)


def _listed(
    folder: Path, images: Images, split: SplitBy, least: int, most: int | None
) -> Collection:
    root = folder / images
    faces = [face for fold in range(FOLDS) for face in _faces(folder, fold, images)]
    if not root.is_dir():
        raise UserError(f"cannot read {root}: there is no such file")
    counts = Counter(face.identity for face in faces)
    people = {person for person, count in counts.items() if count >= least}
    if most is not None:
        people = _some_people(counts, people, most)
    chosen = sorted((f for f in faces if f.identity in people), key=lambda face: face.path)
    if not chosen:
        raise UserError(f"{folder}: nobody has {least} images or more; use a smaller `least`")
    for before, face in pairwise(chosen):
        if before.path == face.path:
            raise face.line.error(f"{face.path} is listed twice (also in {before.line.path.name})")
    for face in chosen:
        if not (root / face.path).is_file():
            raise face.line.error(f"the image {root / face.path} is not there")
    columns = {
        FILE: [stem(face.path) for face in chosen],
        "identity": [face.identity for face in chosen],
        "age": [face.age for face in chosen],
        "gender": [face.gender for face in chosen],
        "fold": [face.fold for face in chosen],
        "split": _parts(chosen, split),
    }
    text = {name: pa.string() for name in columns} | {"fold": pa.int64()}
    table = pa.table({name: pa.array(values, text[name]) for name, values in columns.items()})
    return MediaFolder(root, "image", tuple(face.path for face in chosen), 0, table)


def _faces(folder: Path, fold: int, images: Images) -> list[_ListedFace]:
    lines = read_lines(find_list(folder, f"fold_{fold}_data.txt"), "\t")
    head = next(lines, None)
    if head is None or tuple(head.cells[: len(_COLUMNS)]) != _COLUMNS:
        name = folder / f"fold_{fold}_data.txt"
        raise UserError(f"{name}, line 1: expected the columns {', '.join(_COLUMNS)}, ...")
    found = []
    for line in lines:
        if len(line.cells) < len(_COLUMNS):
            raise line.error(f"expected {len(head.cells)} cells, found {len(line.cells)}")
        user, image, person, age, gender = line.cells[: len(_COLUMNS)]
        if not (user and image and person):
            raise line.error("user_id, original_image or face_id is empty")
        if gender not in ("m", "f", "u", ""):
            raise line.error(f"gender must be m, f, u or empty, not '{gender}'")
        path = f"{user}/{_PREFIX[images]}.{person}.{image}"
        found.append(_ListedFace(line, path, person, age_group(age), GENDERS.get(gender), fold))
    return found


def _some_people(counts: Counter[str], people: set[str], most: int) -> set[str]:
    """Random people, always the same, whose images are at most `most`; at least one person."""
    order = np.random.default_rng(0).permutation(sorted(people)).tolist()
    total = np.cumsum([counts[person] for person in order])
    return set(order[: max(int((total <= most).sum()), 1)])


def _parts(faces: list[_ListedFace], split: SplitBy) -> list[str]:
    if split == "folds":
        return [("train", "train", "train", "val", "test")[face.fold] for face in faces]
    seen: Counter[str] = Counter()
    parts = []
    for face in faces:
        parts.append("test" if seen[face.identity] % 2 else "train")
        seen[face.identity] += 1
    return parts
