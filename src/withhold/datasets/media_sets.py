"""Public media by name, written as files that `withhold extract` and `transform` take.

They come from the folder that WITHHOLD_DATA names, or are drawn; nothing is downloaded.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.core.progress import Progress
from withhold.datasets.adience import AdienceSet
from withhold.datasets.celeba import CelebaSet
from withhold.datasets.drawn_faces_set import DrawnFacesSet
from withhold.datasets.hmdb51 import Hmdb51Set
from withhold.datasets.hmdb51_vispr import Hmdb51VisprSet
from withhold.datasets.media_file import RECORD, MediaFile, some_records, write_npz, write_table
from withhold.datasets.media_set import MediaSet
from withhold.datasets.moving_figures_set import MovingFiguresSet
from withhold.datasets.p_hvu import PHvuSet
from withhold.datasets.pa_hmdb51 import PaHmdb51Set
from withhold.datasets.public import data_folder
from withhold.datasets.ucf101 import Ucf101Set
from withhold.datasets.utkface import face_labels
from withhold.datasets.vispr import VisprSet
from withhold.records.dataset import Dataset
from withhold.records.readers.source import one_line

__all__ = ["MEDIA", "RECORD", "MediaFile", "public_media"]


Writer = Callable[[Path, Path, int | None], MediaFile]


def public_media(
    name: str,
    folder: Path,
    *,
    most: int | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> MediaFile:
    """Write the media set of that name into `folder`, at most `most` media.

    `settings` are those of a set that has some (see `ADJUSTABLE`), such as the size of drawn faces.
    """
    if name not in MEDIA:
        raise UserError(
            f"there is no public media set '{name}'{did_you_mean(name, MEDIA)}"
            f" (known: {listing(MEDIA)})"
        )
    folder.mkdir(parents=True, exist_ok=True)
    if name in ADJUSTABLE:
        return ADJUSTABLE[name].of(settings or {}, name).write(folder, most, progress=progress)
    if settings:
        raise UserError(f"media set '{name}' has no settings; leave out {listing(settings)}")
    return FIXED[name](data_folder(), folder, most)


def audiomnist(source: Path, folder: Path, most: int | None) -> MediaFile:
    """Spoken digits of 60 speakers; with `most`, the first takes. The last quarter of the takes is
    the test part, so every speaker says every digit in both parts."""
    table = _read(source / "audiomnist_takes00-39_8khz.parquet")
    take = table["take"].to_numpy()
    takes = int(take.max()) + 1
    if most is not None:
        takes = min(takes, max(most // int((take == 0).sum()), 4))
    table, take = table.filter(pa.array(take < takes)), take[take < takes]
    parts = np.where(take >= takes - takes // 4, "test", "train")
    column = "audio_mulaw_8khz"
    keep = [column, "speaker", "digit", "gender", "accent"]
    return write_table(table.select(keep), parts, folder / "audiomnist.parquet", "sound", column)


def utkface(source: Path, folder: Path, most: int | None) -> MediaFile:
    """Aligned faces with gender, race and age group; a random `most` of them; 60/20/20."""
    table = _read(source / "utkface_12000_64px.parquet")
    table = table.take(some_records(len(table), most))
    labels = face_labels(table)
    parts = _parts(labels, "gender")
    faces = pa.table({"jpeg": table["jpeg"], **labels})
    return write_table(faces, parts, folder / "utkface.parquet", "image", "jpeg")


def cmufaces(source: Path, folder: Path, most: int | None) -> MediaFile:
    """20 people from four sides, with four expressions, with and without sunglasses; a random
    `most` of them; 60/20/20."""
    arrays = _load(source / "cmufaces_30x32_u8.npz", most)
    pixels = next(n for n, a in arrays.items() if a.ndim == 3)
    labels = {n: pa.array(a.tolist()) for n, a in arrays.items() if a.ndim == 1}
    parts = _parts(labels, "person")
    return write_npz(arrays, pixels, parts, folder / "cmufaces.npz", "image")


def lsa64(source: Path, folder: Path, most: int | None) -> MediaFile:
    """Ten signs by ten signers, five times each, a random `most` of them; the fourth time is val,
    the fifth test."""
    arrays = _load(source / "lsa64_10signs_16x48x64_u8.npz", most)
    again = arrays.pop("repetition")
    parts = np.asarray(["train", "train", "train", "val", "test"])[again - 1]
    return write_npz(arrays, "X", parts, folder / "lsa64.npz", "clip")


# Sets that are always the same, each from one file.
FIXED: dict[str, Writer] = {
    "audiomnist": audiomnist,
    "utkface": utkface,
    "cmufaces": cmufaces,
    "lsa64": lsa64,
}
# Sets with settings of their own.
ADJUSTABLE: dict[str, type[MediaSet]] = {
    "drawn-faces": DrawnFacesSet,
    "moving-figures": MovingFiguresSet,
    "celeba": CelebaSet,
    "adience": AdienceSet,
    "vispr": VisprSet,
    "ucf101": Ucf101Set,
    "hmdb51": Hmdb51Set,
    "pa-hmdb51": PaHmdb51Set,
    "hmdb51-vispr": Hmdb51VisprSet,
    "p-hvu": PHvuSet,
}
MEDIA = (*FIXED, *ADJUSTABLE)


def _read(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _load(path: Path, most: int | None) -> dict[str, npt.NDArray[Any]]:
    try:
        # Opened here, so that it is closed even if numpy fails.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise _unreadable(path, error) from error
    records = max(len(array) for array in arrays.values())
    return {name: array[some_records(records, most)] for name, array in arrays.items()}


def _unreadable(path: Path, error: Exception) -> UserError:
    if isinstance(error, FileNotFoundError):
        return UserError(f"cannot read {path}: there is no such file")
    return UserError(f"cannot read {path}: {getattr(error, 'strerror', None) or one_line(error)}")


def _parts(labels: dict[str, pa.Array], by: str) -> npt.NDArray[np.str_]:
    """A split that is always the same, with equal shares of the classes of `by` in every part."""
    blank = Dataset.of_labels(labels, len(labels[by]))
    found = blank.with_split(stratify=[by]).parts
    assert found is not None
    return found
