"""VISPR (Orekondy et al., 2017): images with the private attributes that they show.

train2017/NAME.jpg, val2017, test2017
annotations/train2017/NAME.json        {"labels": ["a4_gender", "a9_face_complete"], ...}

The JSON files may also be in train2017_annotation, in train2017_annotations, or beside the images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pydantic import Field

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.core.safe_read import read_json
from withhold.datasets.media_file import MediaFile, some_records
from withhold.datasets.media_set import MediaSet
from withhold.datasets.public import data_folder
from withhold.datasets.sized_pictures import Crop, SizedPictures, write_pictures
from withhold.records.dataset import Dataset
from withhold.records.readers.collection import FILE
from withhold.records.readers.media_folder import MediaFolder, stem
from withhold.records.samples import kind_of

PARTS = ("train", "val", "test")
PRIVACY = "privacy"  # the multi-label attribute: which of the labels an image has
Attributes = Literal["vispr-1", "vispr-2", "pa-hmdb"]
# What our attributes are called in VISPR; one of several makes an attribute present.
# VISPR-1 and VISPR-2 are those of SPAct, Table 1; `pa-hmdb` those of PA-HMDB51 (Wu et al., 2020).
NAMES: dict[Attributes, dict[str, tuple[str, ...]]] = {
    "vispr-1": {
        "skin_colour": ("a17_color",),
        "gender": ("a4_gender",),
        "face_complete": ("a9_face_complete",),
        "face_partial": ("a10_face_partial",),
        "semi_nudity": ("a12_semi_nudity",),
        "personal_relationship": ("a64_rel_personal",),
        "social_relationship": ("a65_rel_social",),
    },
    "vispr-2": {
        "hair_colour": ("a6_hair_color",),
        "race": ("a16_race",),
        "sports": ("a59_sports",),
        "age": ("a1_age_approx",),
        "weight": ("a2_weight_approx",),
        "landmark": ("a73_landmark",),
        "tattoo": ("a11_tattoo",),
    },
    "pa-hmdb": {
        "skin_color": ("a17_color",),
        "face": ("a9_face_complete", "a10_face_partial"),
        "gender": ("a4_gender",),
        "nudity": ("a12_semi_nudity",),
        "relationship": ("a64_rel_personal", "a65_rel_social"),
    },
}
_MOST_BYTES = 2**20  # of the JSON of one image


def read_vispr(
    folder: str | Path,
    *,
    attributes: Attributes = "vispr-1",
    side: int | None = None,
    crop: Crop = "whole",
    most: int | None = None,
) -> Dataset:
    """The images with the attributes (yes or no), `privacy` (those that are yes) and the split."""
    media = listed_vispr(Path(folder), attributes, most)
    return Dataset.of_media(media if side is None else SizedPictures(media, side, crop))


class VisprSet(MediaSet):
    """VISPR from $WITHHOLD_DATA/vispr, or from another folder, as squares."""

    folder: str | None = Field(None, description="with train2017, val2017 and test2017")
    attributes: Attributes = Field("vispr-1", description="which list of attributes")
    side: int = Field(112, ge=16, le=512, description="pixels")
    crop: Crop = Field("whole", description="squeeze the whole image, or cut a square from it")

    def write(
        self, folder: Path, most: int | None, *, progress: Progress | None = None
    ) -> MediaFile:
        """Write the images and labels to a Parquet file."""
        source = Path(self.folder) if self.folder else data_folder() / "vispr"
        media = SizedPictures(listed_vispr(source, self.attributes, most), self.side, self.crop)
        target = folder / f"{self.attributes}-{self.side}px.parquet"
        return write_pictures(media, target, progress=progress)


def listed_vispr(folder: Path, attributes: Attributes, most: int | None) -> MediaFolder:
    """The images of all parts, or a random `most` of them, with their labels."""
    found = [(part, path) for part in PARTS for path in _images(folder, part)]
    chosen = [found[i] for i in some_records(len(found), most)]
    names = NAMES[attributes]
    shown = [_shown(folder, part, Path(path), names) for part, path in chosen]
    if not any(shown):
        raise UserError(f"no image of {folder} has any of the labels of {attributes}")
    columns: dict[str, Any] = {FILE: pa.array([stem(path) for _, path in chosen])}
    columns |= yes_or_no(shown, tuple(names))
    columns["split"] = pa.array([part for part, _ in chosen])
    return MediaFolder(folder, "image", tuple(path for _, path in chosen), 0, pa.table(columns))


def yes_or_no(shown: Sequence[Sequence[str] | None], names: Sequence[str]) -> dict[str, pa.Array]:
    """A column of yes and no for each attribute, and `privacy` with those present; None is null."""
    columns = {
        name: pa.array(
            [None if one is None else ("yes" if name in one else "no") for one in shown],
            pa.string(),
        )
        for name in names
    }
    return {**columns, PRIVACY: pa.array(shown, pa.list_(pa.string()))}


def _images(folder: Path, part: str) -> list[str]:
    """The paths of the images of a part, below the folder."""
    root = next((folder / n for n in (f"{part}2017", part) if (folder / n).is_dir()), None)
    if root is None:
        raise UserError(f"cannot read {folder / f'{part}2017'}: there is no such file")
    names = sorted(path.name for path in root.iterdir() if kind_of(path.name) == "image")
    if not names:
        raise UserError(f"{root} holds no images")
    return [f"{root.name}/{name}" for name in names]


def _shown(folder: Path, part: str, image: Path, names: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Which attributes an image shows, in the order of their names."""
    places = (
        f"annotations/{part}2017", f"annotations/{part}", f"{part}2017_annotation",
        f"{part}2017_annotations", image.parent.name,
    )  # fmt: skip
    files = [folder / place / f"{image.stem}.json" for place in places]
    file = next((f for f in files if f.is_file()), None)
    if file is None:
        raise UserError(f"{folder / image} has no labels: {files[0]} is not there")
    try:
        found = read_json(file, _MOST_BYTES)
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror or error}") from error
    labels = found.get("labels") if isinstance(found, dict) else None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise UserError(f"{file}: expected {{'labels': [names of attributes]}}")
    return sorted(name for name, called in names.items() if {*called} & {*labels})
