"""Public media by name, written as files that `withhold extract` and `transform` take.

They come from the folder that WITHHOLD_DATA names; nothing is downloaded. Every file has the
columns `split` and `record`, a number that a medium keeps in any release.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from withhold.core.atomic import write_bytes
from withhold.core.errors import UserError, did_you_mean, listing
from withhold.datasets.public import data_folder
from withhold.datasets.utkface import face_labels
from withhold.records.dataset import Dataset
from withhold.records.readers.source import one_line
from withhold.records.samples import Kind

RECORD = "record"


@dataclass(frozen=True)
class MediaFile:
    """A file of media, and how to open it."""

    path: Path
    kind: Kind
    column: str


def public_media(name: str, folder: Path, *, most: int | None = None) -> MediaFile:
    """Write the media set of that name into `folder`, at most `most` media."""
    if name not in MEDIA:
        raise UserError(
            f"there is no public media set '{name}'{did_you_mean(name, MEDIA)}"
            f" (known: {listing(MEDIA)})"
        )
    folder.mkdir(parents=True, exist_ok=True)
    return MEDIA[name](data_folder(), folder, most)


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
    return _write(table.select(keep), parts, folder / "audiomnist.parquet", "sound", column)


def utkface(source: Path, folder: Path, most: int | None) -> MediaFile:
    """Aligned faces with gender, race and age group; a random `most` of them; 60/20/20."""
    table = _read(source / "utkface_12000_64px.parquet")
    table = table.take(_some(len(table), most))
    labels = face_labels(table)
    parts = _parts(labels, "gender")
    faces = pa.table({"jpeg": table["jpeg"], **labels})
    return _write(faces, parts, folder / "utkface.parquet", "image", "jpeg")


def cmufaces(source: Path, folder: Path, most: int | None) -> MediaFile:
    """20 people from four sides, with four expressions, with and without sunglasses; a random
    `most` of them; 60/20/20."""
    arrays = _load(source / "cmufaces_30x32_u8.npz", most)
    pixels = next(n for n, a in arrays.items() if a.ndim == 3)
    labels = {n: pa.array(a.tolist()) for n, a in arrays.items() if a.ndim == 1}
    parts = _parts(labels, "person")
    return _write_npz(arrays, pixels, parts, folder / "cmufaces.npz", "image")


def lsa64(source: Path, folder: Path, most: int | None) -> MediaFile:
    """Ten signs by ten signers, five times each, a random `most` of them; the fourth time is val,
    the fifth test."""
    arrays = _load(source / "lsa64_10signs_16x48x64_u8.npz", most)
    again = arrays.pop("repetition")
    parts = np.asarray(["train", "train", "train", "val", "test"])[again - 1]
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
    return {name: array[_some(records, most)] for name, array in arrays.items()}


def _some(records: int, most: int | None) -> npt.NDArray[np.int64]:
    """The numbers of `most` random records, sorted and always the same; of all if it is None."""
    drawn = np.random.default_rng(0).permutation(records)
    return np.sort(drawn if most is None else drawn[:most])


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


def _write(
    table: pa.Table, parts: npt.NDArray[np.str_], path: Path, kind: Kind, column: str
) -> MediaFile:
    table = table.append_column(RECORD, pa.array(np.arange(len(table))))
    data = io.BytesIO()
    pq.write_table(table.append_column("split", pa.array(parts.tolist())), data)
    _replace(path, data.getvalue())
    return MediaFile(path, kind, column)


def _write_npz(
    arrays: dict[str, npt.NDArray[Any]],
    pixels: str,
    parts: npt.NDArray[np.str_],
    path: Path,
    kind: Kind,
) -> MediaFile:
    everything: dict[str, Any] = {**arrays, RECORD: np.arange(len(parts)), "split": parts}
    data = io.BytesIO()
    np.savez(data, **everything)
    _replace(path, data.getvalue())
    return MediaFile(path, kind, pixels)


def _replace(path: Path, data: bytes) -> None:
    """Write a file unless it exists unchanged: a newer date would cause a new extraction."""
    if not (path.exists() and path.read_bytes() == data):
        write_bytes(path, data)
