"""Features, and pixels of images and clips, for an audit of media."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from withhold.audit.lost_records import refuse_telling_loss
from withhold.audit.media_pairing import paired_features, refuse_other_media
from withhold.core.errors import UserError
from withhold.core.output_targets import make_folder
from withhold.core.progress import Progress
from withhold.media.attack_pixels import ATTACKED, check_side, with_pixels
from withhold.media.extract_features import extract, plan
from withhold.media.extraction_note import extracted_places
from withhold.media.file_facts import facts_of_release, with_facts
from withhold.media.raw_views import MediaViews
from withhold.media.to_file import extract_to
from withhold.records.dataset import Dataset
from withhold.records.readers import Collection, open_media
from withhold.release.released_dataset import ReleasedDataset


@dataclass(frozen=True, eq=False)
class AuditFiles:
    """Files of features, and the media that they were made of; None for features given as files."""

    original: Path
    release: Path | None
    original_media: Collection | None = None
    release_media: Collection | None = None


def features_for_audit(
    original: Path,
    release: Path | None,
    output: Path,
    *,
    extractor: str | None,
    settings: dict[str, Any],
    where: dict[str, Any],
    names: Path | None,
    progress: Progress,
) -> AuditFiles:
    """Datasets for an audit of media. Their features go to files in the folder of the audit.

    A release is extracted like its original. Labels in its own file names are ignored.
    """
    media = extractor is not None or original.is_dir()
    if not media and not (release is not None and release.is_dir()):
        return AuditFiles(original, release)
    if media and extractor is None:
        raise UserError(f"{original} is a folder of media; choose an extractor with --extractor")
    features: Path = original
    ours: Collection | None = None
    theirs: Any = None
    later = where | {"pattern": None}
    if media:
        features = output / "original.parquet"
        job = plan(original, extractor=extractor, settings=settings, **where)
        ours = job.collection
        if release is not None:  # report a mistake before extracting
            theirs = open_media(release, job.extractor.kind, names=names, **later)
        make_folder(output)
        extract_to(job, features, progress=progress)
    if release is None:
        return AuditFiles(features, None, ours)
    try:
        planned = plan(theirs if media else release, like=features, names=names, **later)
    except UserError as error:
        raise error if media else UserError(f"{release} is a folder of media: {error}") from error
    make_folder(output)
    extract_to(planned, output / "release.parquet", progress=progress)
    return AuditFiles(features, output / "release.parquet", ours, planned.collection)


def add_pixels(
    features: Dataset, media: Collection | None, side: int, progress: Progress
) -> Dataset:
    """Features read from a file, with the images or clips that they were extracted from."""
    if media is None or side == 0 or media.kind not in ATTACKED:
        return features
    places = extracted_places(features, len(media))
    return with_pixels(features, media, places, side, progress=progress)


def add_facts(release: Dataset, media: Collection | None, progress: Progress) -> Dataset:
    """Features read from a file, with sizes and metadata of the released media as columns."""
    if media is None:
        return release
    facts = facts_of_release(media, extracted_places(release, len(media)), progress=progress)
    return replace(release, table=with_facts(release.table, facts))


def features_in_memory(
    original: Dataset,
    release: Dataset | None,
    *,
    extractor: str | None,
    settings: dict[str, Any],
    side: int,
    suppress: Sequence[str],
    progress: Progress,
) -> tuple[Dataset, Dataset | None]:
    """Features of media Datasets, and pixels of images and clips. The release is extracted as its
    original.

    Items that cannot be used are left out. If the release does not say which original each item
    was, none may be missing on either side.
    """
    for data in (original, release):
        if data is not None and data.media is None:
            raise UserError(
                f"{data.name} holds features, and the other side media; an audit compares records"
                " of one kind: make features of the media first (withhold.extract)"
            )
    check_side(side)
    if extractor is None:
        raise UserError(
            f"attackers read features, and {original.name} holds {original.kind}s; choose how to"
            " make features of them, for example extractor='pixels'"
        )
    if isinstance(release, ReleasedDataset):
        refuse_other_media(original, release)
    found, ours = _extracted(original, progress, extractor=extractor, settings=settings)
    before = with_pixels(found, ours.collection, ours.places, side, progress=progress)
    if release is None:
        return before, None
    found, theirs = _extracted(release, progress, extractor=ours.extractor)
    facts = facts_of_release(theirs.collection, theirs.places, progress=progress)
    found = replace(found, table=with_facts(found.table, facts))
    after = with_pixels(found, theirs.collection, theirs.places, side, progress=progress)
    listed = isinstance(release, ReleasedDataset)
    for data, made in ((original, before), (release, after)):
        if len(made) < len(data) and not listed:
            raise UserError(
                f"{len(data) - len(made):,} of {len(data):,} {data.kind}s of {data.name} cannot be"
                f" used by '{extractor}'; remove them from original and release"
            )
    kept, after = paired_features(before, ours.places, release, after, theirs.places)
    if len(kept) < len(original):
        there = np.zeros(len(original), bool)
        there[ours.places[kept]] = True
        refuse_telling_loss(original, there, suppress)
        progress.say(
            f"warning: {len(original) - len(kept):,} of {len(original):,} records of"
            f" {original.name} are not audited: they are not in the release, or cannot be used"
        )
    return before.rows(kept), after


def _extracted(data: Dataset, progress: Progress, **how: Any) -> tuple[Dataset, MediaViews]:
    """Features of media, with what the dataset says about its columns."""
    found = extract(data, progress=progress, **how)
    assert isinstance(found.raw, MediaViews)
    known = replace(
        found,
        group=data.group,
        exclude=data.exclude,
        multilabel=data.multilabel,
        schema=found.schema.remove_metadata(),
    )
    return known, found.raw
