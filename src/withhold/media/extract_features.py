"""Features of media in memory: the plan of an extraction, and how it is done."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold import __version__
from withhold.core.errors import UserError, listing
from withhold.core.progress import Progress, Silent
from withhold.media.cutting import Cutting
from withhold.media.extraction_note import METADATA, extractor_in
from withhold.media.extractors.extractor import Extractor
from withhold.media.extractors.extractor_registry import (
    extractor_type,
    make_extractor,
)
from withhold.media.moments import Moments
from withhold.media.pipeline import STUMBLES, Skipped, blocks, label_schema
from withhold.media.raw_views import MediaViews
from withhold.records.dataset import Dataset
from withhold.records.readers import Collection, Relabelled, open_media
from withhold.records.readers.collection import FILE
from withhold.records.samples import BadMedia
from withhold.records.splits import SPLIT, column_of


@dataclass(frozen=True, eq=False)
class ExtractionJob:
    """A planned extraction: the media, the extractor, and which records are held out."""

    collection: Collection
    extractor: Extractor
    cutting: Cutting
    test: str | None = None

    def fingerprint(self) -> dict[str, Any]:
        """Everything that determines the raw features, as JSON."""
        return {
            "withhold": __version__,
            "media": self.collection.stamp(),
            "extractor": self.extractor.name,
            "config": self.extractor.config.model_dump(mode="json"),
            "weights": self.extractor.fingerprint,
            "cutting": self.cutting.state(),
        }


def plan(
    media: str | Path | Dataset | Collection,
    *,
    extractor: str | Extractor | None = None,
    settings: dict[str, Any] | None = None,
    column: str | None = None,
    rate: int | None = None,
    pattern: str | None = None,
    names: str | Path | None = None,
    test: str | None = None,
    like: str | Path | None = None,
    clips: int | None = None,
    annotations: str | Path | None = None,
    allow_outside: bool = False,
) -> ExtractionJob:
    """Open the media, make the extractor, and check that they match. Nothing is extracted yet.

    `like` names a dataset whose extractor and statistics are used. Unless `allow_outside`, a table
    of paths may only name files below its own folder.
    """
    found = _extractor(extractor, settings, like)
    if isinstance(media, Dataset):
        if media.media is None:
            raise UserError(f"{media.name} holds features already, and no media to extract from")
        media = _labelled(media, media.media)
    if isinstance(media, str | Path):
        media = open_media(
            media,
            found.kind,
            pattern=pattern,
            column=column,
            rate=rate,
            names=names,
            allow_outside=allow_outside,
        )
    if media.kind != found.kind:
        raise UserError(f"{media.name} holds {media.kind}s, '{found.name}' takes {found.kind}s")
    notes = None
    if annotations is not None:
        from withhold.media.annotations import Annotations

        notes = Annotations.read(Path(annotations))
    cutting = Cutting(found.kind, found.frames, found.step, clips, notes)
    known = label_schema(media, cutting)
    if test is not None:
        check_test(test, media, known)
    elif SPLIT in media.schema.names and found.lacks_statistics:
        train_rows(Dataset.of_labels(media.labels(), len(media), name=media.name))
    return ExtractionJob(media, _suited(found, media, cutting), cutting, test)


def extract(
    media: str | Path | Dataset | Collection,
    *,
    progress: Progress | None = None,
    **how: Any,
) -> Dataset:
    """Features of media in memory, with labels as attributes; `how` has the options of `plan`.

    Media that cannot be used are left out, and their number is reported. `withhold extract` lists
    them.
    """
    progress = progress or Silent()
    job = plan(media, **how)
    raw, labels, places, skipped = [], [], [], []
    with progress.stage(job.extractor.name, len(job.collection)) as bar:
        for block in blocks(job.collection, job.extractor, job.cutting):
            raw.append(block.raw)
            labels.append(block.labels)
            places.append(np.asarray(block.places, np.int64))
            skipped += block.skipped
            bar.advance(block.stop - block.start)
    check_some(job, sum(map(len, raw)), skipped)
    if skipped:
        progress.say(skipped_line(skipped))
    table, x = pa.concat_tables(labels), np.concatenate(raw)
    blank = with_parts(job, table, progress)
    fitted = job.extractor
    if fitted.lacks_statistics:
        moments = Moments(fitted.dimension)
        moments.add(x[train_rows(blank)])
        fitted = fitted.with_statistics(moments.mean, moments.deviation)
    where = np.concatenate(places)
    data = Dataset.from_arrays(
        fitted.finish(x),
        blank.table,
        name=job.collection.name,
        raw=MediaViews.of(job.collection, fitted, job.cutting, where),
    )
    note = {METADATA: note_of(job, fitted, skipped)}
    return replace(data, schema=data.schema.with_metadata(note))


def _labelled(data: Dataset, media: Collection) -> Collection:
    """The media of a dataset with the labels that it has now."""
    table = data.table.select(data.schema.names) if data.schema.names else pa.table({})
    return Relabelled(media, table)


def check_test(condition: str, media: Collection, known: pa.Schema) -> None:
    """Refuse a condition that holds out all or no records, before anything is extracted. Conditions
    on annotations are checked later."""
    column = column_of(condition)
    if column not in known.names or column in media.schema.names:
        labels = Dataset.of_labels(media.labels(), len(media), name=media.name)
        labels.with_test_where(condition)


def with_parts(job: ExtractionJob, labels: pa.Table, progress: Progress) -> Dataset:
    """The labels as a dataset without features, split as the job says."""
    blank = Dataset.of_labels(labels, labels.num_rows, name=job.collection.name)
    if job.test is not None:
        blank = blank.with_test_where(job.test)
    if job.cutting.several and blank.parts is None:
        # A later split by record would put windows of one video into both parts.
        blank = replace(replace(blank, group=FILE).with_split(), group=None)
        progress.say("column 'split' is drawn by file: the windows of a video stay together")
    if job.extractor.lacks_statistics and blank.parts is None:
        progress.say(
            f"{job.extractor.name}: there is no split, so features are standardised with the"
            " statistics of all records; hold records out with --test"
        )
    return blank


def train_rows(blank: Dataset) -> npt.NDArray[np.bool_]:
    """Which records may be used for statistics."""
    parts = blank.parts
    train = np.ones(len(blank), bool) if parts is None else parts == "train"
    if not train.any():
        raise UserError(
            f"no record of {blank.name} is in split 'train', so features cannot be standardised"
        )
    return train


def note_of(job: ExtractionJob, fitted: Extractor, skipped: list[Skipped]) -> bytes:
    """How features were made, for the metadata of the file."""
    media = {
        "items": len(job.collection),
        "skipped": [s.place for s in skipped],
        "clips": job.cutting.clips,
        "annotated": job.cutting.annotations is not None,
    }
    return json.dumps(fitted.state() | {"media": media}).encode()


def check_some(job: ExtractionJob, records: int, skipped: list[Skipped]) -> None:
    """Refuse a dataset without records, and give the first reason."""
    if not records:
        why = f": {skipped[0].name}: {skipped[0].reason}" if skipped else ""
        raise UserError(
            f"nothing of {job.collection.name} can be used ({len(skipped):,} skipped){why}"
        )


def skipped_line(skipped: list[Skipped]) -> str:
    """One line about the skipped media."""
    names = listing([f"{s.name} ({s.reason})" for s in skipped], most=3)
    return f"skipped {len(skipped):,}: {names}"


def _extractor(
    extractor: str | Extractor | None, settings: dict[str, Any] | None, like: str | Path | None
) -> Extractor:
    if isinstance(extractor, Extractor):
        return extractor
    if like is not None:
        fitted = extractor_in(like)
        if extractor is not None and extractor_type(extractor).name != fitted.name:
            raise UserError(f"{like} was made with '{fitted.name}', not with '{extractor}'")
        if settings:
            raise UserError(
                f"--like uses the settings and weights of {like}; leave out --set, --weights and"
                " --download"
            )
        return fitted
    return make_extractor(extractor or "logmel", settings)


def _suited(extractor: Extractor, collection: Collection, cutting: Cutting) -> Extractor:
    """The extractor, adapted to the first sample that can be decoded."""
    if type(extractor).suited is Extractor.suited:
        return extractor
    for place, item in enumerate(collection.items()):
        try:
            return extractor.suited(next(cutting.cut(item, place))[0])
        except UserError:
            raise
        except (BadMedia, *STUMBLES):
            continue
    return extractor
