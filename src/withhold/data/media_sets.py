"""Public media by name, written as files that `withhold extract` and `transform` take.

They come from the folder that WITHHOLD_DATA names; nothing is downloaded. Every file has the
columns `record` (a number that stays with a medium through any release) and `split`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from withhold.data.faces import face_labels
from withhold.data.public import data_folder
from withhold.dataset import Dataset
from withhold.errors import UserError, did_you_mean, listing
from withhold.media.samples import Kind

RECORD = "record"


@dataclass(frozen=True)
class MediaFile:
    """A file of media, and how to open it."""

    path: Path
    kind: Kind
    column: str


def public_media(name: str, folder: Path, *, most: int | None = None) -> MediaFile:
    """Write the media set of that name into `folder`, `most` of it at most."""
    if name not in MEDIA:
        raise UserError(
            f"there is no public media set '{name}'{did_you_mean(name, MEDIA)}"
            f" (known: {listing(MEDIA)})"
        )
    folder.mkdir(parents=True, exist_ok=True)
    return MEDIA[name](data_folder(), folder, most)


def audiomnist(source: Path, folder: Path, most: int | None) -> MediaFile:
    """Spoken digits of 60 speakers; of `most`, the first takes. The last quarter of the takes is
    test: everybody says everything in both parts."""
    table = _read(source / "audiomnist_takes00-39_8khz.parquet")
    take = table["take"].to_numpy()
    takes = 40 if most is None else max(most // 600, 4)
    table, take = table.filter(pa.array(take < takes)), take[take < takes]
    parts = np.where(take >= takes - takes // 4, "test", "train")
    column = "audio_mulaw_8khz"
    keep = [column, "speaker", "digit", "gender", "accent"]
    return _write(table.select(keep), parts, folder / "audiomnist.parquet", "sound", column)


def utkface(source: Path, folder: Path, most: int | None) -> MediaFile:
    """Aligned faces with gender, race and age group; a random `most` of them; 60/20/20."""
    table = _read(source / "utkface_12000_64px.parquet")
    if most is not None:
        drawn = np.random.default_rng(0).permutation(len(table))[:most]
        table = table.take(np.sort(drawn))
    labels = face_labels(table)
    parts = _parts(labels, "gender")
    faces = pa.table({"jpeg": table["jpeg"], **labels})
    return _write(faces, parts, folder / "utkface.parquet", "image", "jpeg")


def cmufaces(source: Path, folder: Path, most: int | None) -> MediaFile:
    """20 people from four sides, with four faces, with and without sunglasses; 60/20/20."""
    arrays = _load(source / "cmufaces_30x32_u8.npz")
    pixels = next(n for n, a in arrays.items() if a.ndim == 3)
    labels = {n: pa.array(a.tolist()) for n, a in arrays.items() if a.ndim == 1}
    parts = _parts(labels, "person")
    return _write_npz(arrays, pixels, parts, folder / "cmufaces.npz", "image")


def lsa64(source: Path, folder: Path, most: int | None) -> MediaFile:
    """Ten signs by ten signers, five times each; the fourth time is val, the fifth test."""
    arrays = _load(source / "lsa64_10signs_16x48x64_u8.npz")
    again = arrays.pop("repetition")
    parts = np.asarray(["train", "train", "train", "val", "test"])[again - again.min()]
    return _write_npz(arrays, "X", parts, folder / "lsa64.npz", "clip")


MEDIA: dict[str, Callable[[Path, Path, int | None], MediaFile]] = {
    "audiomnist": audiomnist,
    "utkface": utkface,
    "cmufaces": cmufaces,
    "lsa64": lsa64,
}


def _read(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error


def _load(path: Path) -> dict[str, npt.NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error


def _parts(labels: dict[str, pa.Array], by: str) -> npt.NDArray[np.str_]:
    """A split that everybody draws alike, with the shares of `by` in every part."""
    blank = Dataset.from_arrays(np.zeros((len(labels[by]), 1)), labels)
    found = blank.with_split(stratify=[by]).parts
    assert found is not None
    return found


def _write(
    table: pa.Table, parts: npt.NDArray[np.str_], path: Path, kind: Kind, column: str
) -> MediaFile:
    table = table.append_column(RECORD, pa.array(np.arange(len(table))))
    pq.write_table(table.append_column("split", pa.array(parts.tolist())), path)
    return MediaFile(path, kind, column)


def _write_npz(
    arrays: dict[str, npt.NDArray[Any]],
    pixels: str,
    parts: npt.NDArray[np.str_],
    path: Path,
    kind: Kind,
) -> MediaFile:
    everything: dict[str, Any] = {**arrays, RECORD: np.arange(len(parts)), "split": parts}
    np.savez(path, **everything)
    return MediaFile(path, kind, pixels)
