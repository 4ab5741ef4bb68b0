"""Public data sets by name, from the folder that WITHHOLD_DATA names. Nothing is downloaded."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.core.progress import Progress, Silent
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source

Loader = Callable[[Path, Progress], Dataset]


def public(name: str, *, progress: Progress | None = None) -> Dataset:
    """The data set of that name, with its split; see `PUBLIC` for the names."""
    if name not in PUBLIC:
        raise UserError(
            f"there is no public data set '{name}'{did_you_mean(name, PUBLIC)}"
            f" (known: {listing(PUBLIC)})"
        )
    return PUBLIC[name](data_folder(), progress or Silent())


def data_folder() -> Path:
    """The folder that WITHHOLD_DATA names."""
    named = os.environ.get("WITHHOLD_DATA")
    if not named:
        raise UserError("set WITHHOLD_DATA to the folder that holds the public data sets")
    folder = Path(named)
    if not folder.is_dir():
        raise UserError(f"WITHHOLD_DATA names {folder}, which is not a folder")
    return folder


def audiomnist(folder: Path, progress: Progress) -> Dataset:
    """AudioMNIST as log-mel features; takes 0 to 29 train, 30 to 39 test.

    60 speakers say ten digits. Gender, accent, age and room are functions of the speaker.
    """
    from withhold.media.extract_features import extract

    data = extract(
        folder / "audiomnist_takes00-39_8khz.parquet", test="take>=30", progress=progress
    )
    return data.without(["take"])


def audiomnist_val(folder: Path, progress: Progress) -> Dataset:
    """AudioMNIST without its test takes: 0 to 24 train, 25 to 29 to choose settings on."""
    from withhold.media.extract_features import extract

    path = folder / "audiomnist_takes00-39_8khz.parquet"
    data = extract(path, test="take>=25", progress=progress)
    takes = np.asarray(data.table["take"].to_pylist())
    return data.rows(takes < 30).without(["take"])


def utkface(folder: Path, progress: Progress) -> Dataset:
    """12,000 faces of UTKFace as 32 x 32 grey pixels in 0..1; 60 % train, 20 % val, 20 % test."""
    from withhold.datasets.utkface import FILE, read_faces

    return read_faces(folder / FILE, progress).with_split(stratify=["gender"])


ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "income",
)  # fmt: skip
_NUMBERS = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
_CATEGORIES = (
    "workclass", "education", "marital-status", "occupation", "relationship", "native-country"
)  # fmt: skip
ADULT_ATTRIBUTES = ("sex", "race", "income", "marital-status", "occupation", "education")


def adult(folder: Path, progress: Progress) -> Dataset:
    """Adult census: numbers scaled, categories one-hot; adult.data train, adult.test test.

    Sex, race and income are attributes and not among the features; the sampling weight `fnlwgt` is
    neither. Statistics and categories come from the training part.
    """
    rows = [(part, r) for part in ("train", "test") for r in _adult_rows(folder / "adult", part)]
    columns = {
        name: np.asarray([r[i] for _, r in rows], dtype=object)
        for i, name in enumerate(ADULT_COLUMNS)
    }
    parts = np.asarray([part for part, _ in rows])
    train = parts == "train"
    pieces, names = [], []
    for name in _NUMBERS:
        value = columns[name].astype(np.float64)
        if name.startswith("capital"):
            value = np.log1p(value)  # otherwise a few very large amounts would dominate
        pieces.append((value - value[train].mean()) / value[train].std())
        names.append(name)
    for name in _CATEGORIES:
        for category in sorted({v for v in columns[name][train] if v != "?"}):
            pieces.append((columns[name] == category).astype(np.float64))
            names.append(f"{name}={category}")
    labels = {
        name: pa.array([None if v == "?" else v for v in columns[name]])
        for name in ADULT_ATTRIBUTES
    }
    table = pa.table(labels | {"split": pa.array(parts.tolist())})
    return Dataset.from_arrays(np.stack(pieces, axis=1), table, name="adult")


def adult_table(folder: Path, progress: Progress) -> Dataset:
    """Adult census as a mixed table: the 32,561 records of adult.data, with all its columns."""
    return _adult_table(folder, "train")


def adult_table_test(folder: Path, progress: Progress) -> Dataset:
    """The same of the 16,281 records of adult.test."""
    return _adult_table(folder, "test")


def _adult_table(folder: Path, part: str) -> Dataset:
    rows = _adult_rows(folder / "adult", part)
    numbers = (*_NUMBERS, "fnlwgt")
    columns = {}
    for i, name in enumerate(ADULT_COLUMNS):
        values = [None if r[i] == "?" else r[i] for r in rows]
        whole = name in numbers
        columns[name] = pa.array(
            [None if v is None else int(v) for v in values] if whole else values
        )
    return Dataset.of_table(open_source(pa.table(columns)))


def _adult_rows(folder: Path, part: str) -> list[list[str]]:
    path = folder / ("adult.data" if part == "train" else "adult.test")
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    # adult.test begins with a comment, and its labels end in a full stop.
    cells = [[c.strip().rstrip(".") for c in line.split(",")] for line in lines]
    return [row for row in cells if len(row) == len(ADULT_COLUMNS)]


PUBLIC: dict[str, Loader] = {
    "audiomnist": audiomnist,
    "audiomnist-val": audiomnist_val,
    "adult": adult,
    "adult-table": adult_table,
    "adult-table-test": adult_table_test,
    "utkface": utkface,
}
