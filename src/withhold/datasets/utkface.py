"""UTKFace: aligned faces as grey pixels, with gender, race and age group."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.records.dataset import Dataset

FILE = "utkface_12000_64px.parquet"
SIDE = 32  # pixels
GENDERS = ("male", "female")
RACES = ("white", "black", "asian", "indian", "other")
# The first year of each age group, and its name.
AGES = {0: "0-12", 13: "13-19", 20: "20-29", 30: "30-44", 45: "45-59", 60: "60+"}


def read_faces(path: Path, progress: Progress, *, most: int | None = None) -> Dataset:
    """Every face, or a random `most` of them: SIDE x SIDE grey pixels in 0..1, row by row."""
    try:
        from PIL import Image
    except ImportError as error:
        raise UserError(
            f"reading the faces of {path.name} needs the package pillow:"
            ' pip install "withhold[media]" -c constraints.txt'
        ) from error
    try:
        table = pq.read_table(path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    if most is not None:
        drawn = np.random.default_rng(0).permutation(len(table))[:most]
        table = table.take(np.sort(drawn))
    x = np.empty((len(table), SIDE * SIDE), np.float32)
    with progress.stage("reading faces", len(table)) as bar:
        for row, jpeg in zip(x, table["jpeg"], strict=True):
            picture = Image.open(io.BytesIO(jpeg.as_py())).convert("L")
            row[:] = np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BOX)).ravel()
            bar.advance()
    return Dataset.from_arrays(x / 255, face_labels(table), name="faces")


def face_labels(table: pa.Table) -> dict[str, pa.Array]:
    """Gender, race and age group by name."""
    starts = np.searchsorted(list(AGES), table["age"].to_numpy(), side="right") - 1
    return {
        "gender": _named(GENDERS, table["gender"].to_numpy()),
        "race": _named(RACES, table["race"].to_numpy()),
        "age": _named(tuple(AGES.values()), starts),
    }


def _named(names: tuple[str, ...], codes: npt.NDArray[np.int64]) -> pa.Array:
    return pa.array([names[code] for code in codes])
