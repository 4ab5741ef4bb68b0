"""Decoded media of a collection, written with their labels to one Parquet file."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from withhold.core.atomic import open_new, writing_to
from withhold.core.progress import Progress, Silent
from withhold.datasets.media_file import RECORD, MediaFile
from withhold.media.encode import encode
from withhold.records.readers import Collection
from withhold.records.samples import BadMedia, Sample
from withhold.records.tables import canonical_bytes

_ROWS = 256  # media in memory while writing
_SOURCE = b"withhold.source"


def write_media(
    media: Collection, target: Path, suffix: str, *, progress: Progress | None = None
) -> MediaFile:
    """Write decoded media in the format of `suffix` to a Parquet file, a few at a time.

    The column is named after the format. Media without a column `record` are numbered. A file that
    was written from the same media is used again. A medium that cannot be read is null, so that
    the others keep their numbers; the first reasons are reported.
    """
    column = suffix.removeprefix(".")
    file = MediaFile(target, media.kind, column)
    labels = media.labels()
    assert labels is not None
    if RECORD not in labels.column_names:
        labels = labels.append_column(RECORD, pa.array(np.arange(len(labels))))
    source = _source(media, labels, suffix)
    if target.exists() and (pq.read_schema(target).metadata or {}).get(_SOURCE) == source:
        return file
    schema = pa.schema([pa.field(column, pa.binary()), *labels.schema], {_SOURCE: source})
    partial = target.with_name(target.name + ".partial")
    progress = progress or Silent()
    lost: list[str] = []
    with writing_to(target), progress.stage(f"writing {target.name}", len(media)) as bar:
        with open_new(partial) as opened, pq.ParquetWriter(opened, schema) as writer:
            batch: list[bytes | None] = []
            for number, item in enumerate(media.items(), 1):
                if isinstance(item.content, BadMedia):
                    lost.append(f"{item.name} ({item.content})")
                batch.append(_encoded(item.content, suffix))
                if len(batch) == _ROWS or number == len(media):
                    some = labels.slice(number - len(batch), len(batch))
                    some = some.add_column(0, column, pa.array(batch, pa.binary()))
                    writer.write_table(some.cast(schema))
                    batch = []
                bar.advance()
        os.replace(partial, target)
    if lost:
        progress.say(f"{target.name}: {len(lost):,} cannot be used, such as {lost[0]}")
    return file


def _encoded(content: object, suffix: str) -> bytes | None:
    return encode(content, None, suffix) if isinstance(content, Sample) else None


def _source(media: Collection, labels: pa.Table, suffix: str) -> bytes:
    """What changes when a medium, a label, the size or the format does."""
    h = hashlib.sha256(f"{media.stamp()} {suffix}".encode())
    for name in labels.column_names:
        h.update(name.encode())
        for piece in canonical_bytes(labels[name]):
            h.update(piece)
    return h.hexdigest().encode()
