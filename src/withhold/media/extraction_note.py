"""The note in a file of features on how they were made, and the way back to their media."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError
from withhold.core.safe_read import parse_json
from withhold.media.cutting import Cutting
from withhold.media.extractors.extractor import Extractor
from withhold.media.extractors.extractor_registry import extractor_from_state
from withhold.media.raw_views import MediaViews
from withhold.records.dataset import Dataset
from withhold.records.readers import open_media

# The metadata key for how features were made, so that later media get the same treatment.
METADATA = b"withhold.extractor"


def with_raw_media(dataset: Dataset, path: str | Path, **how: Any) -> Dataset:
    """A dataset with the media it was extracted from, so that `fit` can make views of them."""
    note = _note(dataset)
    fitted, media = extractor_from_state(note), note.get("media", {})
    skipped = _skipped(dataset, media)
    if media.get("annotated") or media.get("clips"):
        raise UserError(
            f"{dataset.name} has several windows per video; --raw needs one window per video"
        )
    collection = open_media(path, fitted.kind, **how)
    left = np.setdiff1d(np.arange(len(collection)), np.asarray(skipped, np.int64))
    if len(collection) != media.get("items", len(dataset)) or len(left) != len(dataset):
        raise UserError(
            f"{path} has {len(collection):,} {fitted.kind}s, {dataset.name} has"
            f" {len(dataset):,} records; --raw must be the media the features were extracted from"
        )
    cutting = Cutting(fitted.kind, fitted.frames, fitted.step)
    raw = MediaViews.of(collection, fitted, cutting, left)
    some = np.unique([0, len(dataset) // 2, len(dataset) - 1])
    found, known = raw.features(some), dataset.x[some]
    if not np.allclose(found, known, rtol=1e-2, atol=1e-2 * float(np.abs(known).max())):
        raise UserError(
            f"{path} does not give the features of {dataset.name}; --raw must be the media the"
            " features were extracted from, in the same order"
        )
    return replace(dataset, raw=raw)


def extracted_places(dataset: Dataset, items: int) -> npt.NDArray[np.int64]:
    """The items, of so many, that the records of an extracted dataset were made of, one each."""
    skipped = _skipped(dataset, _note(dataset).get("media", {}))
    return np.setdiff1d(np.arange(items), np.asarray(skipped, np.int64))


def _skipped(dataset: Dataset, media: Any) -> list[int]:
    """The items that gave no record, from the note in the file, checked."""
    skipped = media.get("skipped", []) if isinstance(media, dict) else None
    if not isinstance(skipped, list) or not all(type(place) is int for place in skipped):
        raise UserError(f"the note on the media in {dataset.name} is damaged; extract it again")
    return skipped


def extractor_of(dataset: Dataset) -> Extractor:
    """The extractor of a dataset's features, from the metadata of its file."""
    return extractor_from_state(_note(dataset))


def _note(dataset: Dataset) -> dict[str, Any]:
    note = (dataset.schema.metadata or {}).get(METADATA)
    if note is None:
        raise UserError(
            f"{dataset.name} does not say how its features were extracted; make it with:"
            " withhold extract"
        )
    return _parsed(note, dataset.name)


def extractor_in(path: str | Path) -> Extractor:
    """The extractor of the features in a file, from its metadata."""
    import pyarrow.parquet as pq

    from withhold.records.readers import open_source

    metadata = open_source(path).schema.metadata
    if Path(path).suffix in (".parquet", ".pq"):
        metadata = pq.read_schema(path).metadata
    note = (metadata or {}).get(METADATA)
    if note is None:
        raise UserError(
            f"{path} does not say how its features were extracted; make it with: withhold extract"
            " … -o NAME.parquet (an npz cannot store it)"
        )
    return extractor_from_state(_parsed(note, str(path)))


def _parsed(note: bytes, name: str) -> dict[str, Any]:
    """The note on the extractor, checked: it may have been edited by hand."""
    found = parse_json(note, f"the note on the extractor in {name}")
    if not isinstance(found, dict):
        raise UserError(f"the note on the extractor in {name} is damaged; extract it again")
    return found
