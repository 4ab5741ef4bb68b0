"""Releases that Withhold did not make, as files for `withhold audit ORIGINAL RELEASE`.

Each is made from the file of the original with other tools than ours. Its records are in another
order and are matched by their id.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from withhold.bench.rivals import missing
from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.datasets.public import data_folder, public
from withhold.datasets.utkface import FILE, SIDE, read_faces
from withhold.records.dataset import Dataset

KEY = "id"
FACES = 6000
BLUR_SIGMA = 3.0  # pixels; leaves 6 % of a wave of 8 pixels, a quarter of the picture


@dataclass(frozen=True)
class External:
    """An original and a release of it, the roles to audit it for, and how it was made.

    `features` names the feature columns of both files, `key` the column that matches records.
    """

    label: str
    original: Path
    release: Path
    suppress: str
    preserve: str
    features: str
    note: str
    key: str = KEY


def make_external(folder: Path, *, progress: Progress) -> list[External]:
    """Write the originals and their releases to `folder`; data comes from WITHHOLD_DATA."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"folder {folder} cannot be made: {error.strerror}") from error
    return [_adult(folder, progress), _faces(folder, progress)]


def _adult(folder: Path, progress: Progress) -> External:
    original, release = folder / "adult.parquet", folder / "adult-fairlearn.parquet"
    data = public("adult", progress=progress)
    names = [f"f_{i:03d}" for i in range(data.dimension)]
    wide = Dataset.from_arrays(data.x, data.table, names=names, name="adult")
    wide.with_column(KEY, _ids("adult", len(wide))).write(original)
    with progress.stage("fairlearn's CorrelationRemover", None):
        remove_correlation(original, release, ["sex", "race"])
    return External(
        label="Adult, fairlearn CorrelationRemover",
        original=original,
        release=release,
        suppress="sex,race",
        preserve="income",
        features="f_*",
        note="CorrelationRemover with alpha 1, sensitive columns sex and race (one-hot), fitted on"
        " the train part; rows shuffled",
    )


def _faces(folder: Path, progress: Progress) -> External:
    original, release = folder / "faces.parquet", folder / "faces-blurred.parquet"
    faces = read_faces(data_folder() / FILE, progress, most=FACES)
    faces.with_column(KEY, _ids("face", len(faces))).write(original)
    with progress.stage("blurring faces", None):
        blur(original, release)
    return External(
        label="UTKFace, Gaussian blur",
        original=original,
        release=release,
        suppress="gender",
        preserve="race,age",
        features="x",
        note=f"scipy.ndimage.gaussian_filter, sigma {BLUR_SIGMA:g} pixels on {SIDE} x {SIDE} grey"
        " pixels, rounded to 8 bits; rows shuffled",
    )


def remove_correlation(original: Path, release: Path, sensitive: list[str]) -> None:
    """Release the features `f_*` without the part that is linear in the sensitive columns.

    Uses `fairlearn` and `pandas` only. The sensitive columns are one-hot, because class numbers
    mean nothing to a regression. Fairlearn drops them from its output, so the release has the
    features of the original and the id.
    """
    try:
        import pandas as pd
        from fairlearn.preprocessing import CorrelationRemover
    except ImportError as error:
        raise missing("fairlearn", "the release of Adult") from error
    frame = pd.read_parquet(original)
    features = frame.filter(regex="^f_")
    dummies = pd.get_dummies(frame[sensitive], dtype=float)
    columns = pd.concat([features, dummies], axis=1)
    remover = CorrelationRemover(sensitive_feature_ids=list(dummies.columns), alpha=1.0)
    remover.fit(columns[frame["split"] == "train"])
    released = pd.DataFrame(remover.transform(columns), columns=features.columns)
    released.insert(0, KEY, frame[KEY])
    released.sample(frac=1, random_state=0).to_parquet(release, index=False)


def blur(original: Path, release: Path) -> None:
    """Release the pictures x blurred, with `scipy` and `pyarrow` only.

    Values are rounded as in a picture file: a blur stored in full precision can be undone.
    """
    from scipy.ndimage import gaussian_filter

    table = pq.read_table(original, columns=[KEY, "x"])
    pictures = table["x"].combine_chunks().flatten().to_numpy().reshape(-1, SIDE, SIDE)
    blurred = gaussian_filter(pictures, sigma=(0, BLUR_SIGMA, BLUR_SIGMA))
    rounded = np.rint(blurred * 255).astype(np.float32) / np.float32(255)
    lists = pa.array(list(rounded.reshape(len(rounded), -1)), pa.list_(pa.float32()))
    order = np.random.default_rng(0).permutation(len(rounded))
    pq.write_table(pa.table({KEY: table[KEY], "x": lists}).take(order), release)


def _ids(prefix: str, n: int) -> pa.Array:
    return pa.array([f"{prefix}-{i:05d}" for i in range(n)])
