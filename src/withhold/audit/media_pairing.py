"""Pair media before features are made of them: which items of both sides can be compared.

An extractor may fail on some items (a damaged file, no face found). A release that Withhold made
says which original each of its items was, so the others can still be paired.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.records.readers import Collection, Selection
from withhold.release.modified_media import ModifiedMedia
from withhold.release.released_dataset import ReleasedDataset

Rows = npt.NDArray[np.int64]


def refuse_other_media(original: Dataset, release: ReleasedDataset) -> None:
    """Refuse a release in memory that was made from other media, or in another order.

    Every record would be paired with a stranger, and any release would look private.
    """
    assert original.media is not None
    assert release.media is not None
    modified = _sources(release.media)
    rows = release.original_rows
    there = len(rows) and rows.max() < len(original)
    expected = Selection.of(original.media, rows) if there else None
    if modified is None or expected is None or modified.digest() != expected.digest():
        raise UserError(
            f"{release.name} was not made from {original.name} as it is now, so its rows would be"
            " matched to the wrong records; give the data that was released"
        )


def paired_features(
    original: Dataset, before: Rows, release: Dataset, features: Dataset, after: Rows
) -> tuple[Rows, Dataset]:
    """The rows of the original's features that have a partner, and the release's features.

    original: the features of the original, made of its items `before`. release: the media that
    were released; `features` of them were made of the items `after`. If the release says which
    original each item was, items without a partner are left out.
    """
    everything = np.arange(len(original))
    if not isinstance(release, ReleasedDataset):
        return everything, features
    place = np.full(int(max(before.max(), release.original_rows.max())) + 1, -1)
    place[before] = everything
    rows = place[release.original_rows[after]]  # of each released record, among `before`
    there = rows >= 0
    kept = np.sort(rows[there])
    listed = ReleasedDataset(
        **{f.name: getattr(features.rows(there), f.name) for f in fields(Dataset)},
        original_rows=np.searchsorted(kept, rows[there]),
        same_order=release.same_order,
    )
    return kept, replace(listed, left_out=release.left_out, kept_by_name=release.kept_by_name)


def _sources(media: Collection) -> Selection | None:
    """The original items that released ones were made of, in order; None if nobody says."""
    if isinstance(media, Selection):
        whole = _sources(media.whole)
        return None if whole is None else Selection.of(whole, media.places)
    if isinstance(media, ModifiedMedia):
        return Selection.of(media.whole, np.arange(len(media.whole)))
    return None
