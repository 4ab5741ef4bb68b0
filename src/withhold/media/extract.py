"""Media to a dataset, and a dataset back to the media it came from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from withhold.dataset import Dataset
from withhold.errors import UserError, did_you_mean
from withhold.media.extractors.logmel import LogMel
from withhold.media.sound_views import SoundViews
from withhold.media.sounds import Sounds, read_sounds
from withhold.progress import Progress, Silent

EXTRACTORS = ("logmel",)
# Where a dataset file keeps how its features were made, so that later clips are treated alike.
METADATA = b"withhold.extractor"


def extract(
    path: str | Path,
    *,
    extractor: str = "logmel",
    column: str | None = None,
    rate: int | None = None,
    test: str | None = None,
    like: str | Path | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Features of a file of sound, with its other columns as attributes.

    `test` names the records to hold out (`take>=30`); the extractor's statistics come from the
    others. `like` names a dataset whose extractor, statistics and all, is used instead.
    """
    if extractor not in EXTRACTORS:
        raise UserError(
            f"there is no extractor '{extractor}'{did_you_mean(extractor, EXTRACTORS)}"
            f" (extractors: {', '.join(EXTRACTORS)})"
        )
    progress = progress or Silent()
    sounds, table = read_sounds(path, column=column, rate=rate)
    fitted = None if like is None else extractor_of(Dataset.read(like))
    return from_sounds(
        sounds, table, name=Path(path).name, test=test, fitted=fitted, progress=progress
    )


def from_sounds(
    sounds: Sounds,
    table: pa.Table,
    *,
    name: str,
    test: str | None = None,
    fitted: LogMel | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Log-mel features of clips, as a dataset that remembers its clips for contrastive views."""
    progress = progress or Silent()
    blank = Dataset.from_arrays(np.zeros((len(sounds), 1), np.float32), table, name=name)
    if test is not None:
        blank = blank.with_test_where(test)
    parts = blank.parts
    if fitted is not None:
        x = fitted.extract(sounds, progress=progress)
    else:
        if parts is None:
            progress.say(
                "logmel: no split, so features are standardised with the statistics of all clips;"
                " hold records out with --test"
            )
        train = None if parts is None else parts == "train"
        fitted, x = LogMel(sounds.rate).fit_extract(sounds, train, progress=progress)
    data = Dataset.from_arrays(x, blank.table, name=name, raw=SoundViews(sounds, fitted))
    note = {METADATA: json.dumps(fitted.state()).encode()}
    return replace(data, schema=data.schema.with_metadata(note))


def with_raw_sounds(
    dataset: Dataset, path: str | Path, *, column: str | None = None, rate: int | None = None
) -> Dataset:
    """A dataset with the clips it was extracted from, so that `fit` can make views of them."""
    sounds, _ = read_sounds(path, column=column, rate=rate)
    if len(sounds) != len(dataset):
        raise UserError(
            f"{path} has {len(sounds):,} clips, {dataset.name} has {len(dataset):,} records;"
            " --raw must be the file the features were extracted from"
        )
    return replace(dataset, raw=SoundViews(sounds, extractor_of(dataset)))


def extractor_of(dataset: Dataset) -> LogMel:
    """The extractor that made a dataset's features, from the file's metadata."""
    note = (dataset.schema.metadata or {}).get(METADATA)
    if note is None:
        raise UserError(
            f"{dataset.name} does not say how its features were extracted; make it with:"
            " withhold extract"
        )
    return LogMel.from_state(json.loads(note))
