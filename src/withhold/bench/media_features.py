"""Features of a media set, extracted once for all rows and recipes that need them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from withhold.bench.recipe import Extracted, Recipe
from withhold.bench.row_cache import row_folder, row_key, write_once
from withhold.core.errors import UserError, listing
from withhold.core.progress import Progress
from withhold.datasets.media_sets import RECORD, MediaFile, public_media
from withhold.media.extract_features import plan
from withhold.media.extraction_note import with_raw_media
from withhold.media.to_file import extract_to
from withhold.records.dataset import Dataset
from withhold.records.readers import Collection, open_media


def opened(file: MediaFile) -> Collection:
    """The media of a file."""
    return open_media(file.path, file.kind, column=file.column)


def media_of(recipe: Recipe, folder: Path, *, progress: Progress | None = None) -> MediaFile:
    """The media set of a recipe, written into `folder`."""
    return public_media(
        recipe.data, folder, most=recipe.most, settings=recipe.data_settings, progress=progress
    )


def features_of(
    spec: Extracted,
    file: MediaFile,
    target: Path,
    *,
    like: Path | None = None,
    progress: Progress,
) -> Dataset:
    """Features of a file of media, extracted once; attributes only."""
    job = plan(
        opened(file),
        extractor=None if like else spec.name,
        settings=None if like else _expanded(spec.settings),
        like=like,
    )
    write_once(
        target, row_key([job.fingerprint()]), partial(extract_to, job, target, progress=progress)
    )
    return Dataset.read(target, exclude=[RECORD])


def features_with_media(recipe: Recipe, folder: Path, progress: Progress) -> Dataset:
    """Features by the recipe's first extractor, with the media, so that fits can make views.

    `folder` may be shared by recipes: a file in it is made anew only if it differs.
    """
    file = media_of(recipe, folder, progress=progress)
    spec = recipe.extractors[0]
    name = row_folder(folder, f"{recipe.data} {spec.shown}").name
    data = features_of(spec, file, folder / f"{name}.parquet", progress=progress)
    return tagged(with_raw_media(data, file.path, column=file.column), recipe.tags)


def tagged(data: Dataset, tags: Mapping[str, Mapping[str, str]]) -> Dataset:
    """The same with multi-label attributes: a record has the tag of each attribute whose value is
    the one named. A record without a label of one of them has none of that multi-label attribute.
    """
    for name, values in tags.items():
        columns = [data.attribute(one) for one in values]
        for column, value in zip(columns, values.values(), strict=True):
            if value not in column.classes:
                raise UserError(
                    f"tags: attribute '{column.name}' has no value '{value}'"
                    f" (values: {listing(column.classes)})"
                )
        known = np.logical_and.reduce([column.known for column in columns])
        has = [
            column.codes == column.classes.index(value)
            for column, value in zip(columns, values.values(), strict=True)
        ]
        rows = [
            [tag for tag, of in zip(values, has, strict=True) if of[i]] if known[i] else None
            for i in range(len(data))
        ]
        data = data.with_column(name, pa.array(rows, pa.list_(pa.string())))
    return data


def _expanded(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with variables such as $WITHHOLD_DATA in texts replaced."""
    return {k: os.path.expandvars(v) if isinstance(v, str) else v for k, v in settings.items()}
