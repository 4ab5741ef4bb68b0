"""Extract features into a dataset file: streamed, resumable, with bad media listed beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from withhold.core.atomic import write_bytes
from withhold.core.errors import UserError
from withhold.core.lists import as_csv
from withhold.core.progress import Progress
from withhold.core.spread import MapInOrder
from withhold.media.extract_features import (
    ExtractionJob,
    check_some,
    note_of,
    train_rows,
    with_parts,
)
from withhold.media.extraction_note import METADATA
from withhold.media.extractors.extractor import Extractor
from withhold.media.moments import Moments
from withhold.media.parts import ExtractedParts
from withhold.media.pipeline import FEATURES, Block, BlockAt, Skipped, block_size, blocks
from withhold.records.dataset import Dataset
from withhold.records.writers import open_sink

# A part is written after so many bytes of features, or so many seconds of work.
_BYTES, _SECONDS = 32 * 2**20, 3.0
_ROWS = 1024  # finished and written at once


@dataclass(frozen=True)
class Extraction:
    """The result of an extraction."""

    records: int
    features: int
    resumed: int  # items that an earlier run had done
    skipped: list[Skipped]
    errors: Path | None  # the list of them


def errors_path(output: Path) -> Path:
    """Where to write the list of skipped media."""
    return output.with_name(f"{output.stem}.errors.csv")


def extract_to(
    job: ExtractionJob,
    output: Path,
    *,
    strict: bool = False,
    progress: Progress,
    workers: int | None = None,
    spread: MapInOrder | None = None,
) -> Extraction:
    """Extract into `output`. Call it again to resume an interrupted run.

    With `strict`, the first medium that cannot be used is an error. workers: threads that decode.
    spread: runs whole blocks instead, in other processes, which must be able to read the media.
    """
    parts = ExtractedParts(output.with_name(f"{output.name}.partial"), job.fingerprint())
    resumed = parts.stop
    if resumed:
        progress.say(f"resuming from {parts.folder}: {resumed:,} of {len(job.collection):,} done")
    try:
        _fill(parts, job, strict, progress, partial(_blocks, job, parts.stop, workers, spread))
    except BaseException:
        if not parts.paths:
            parts.remove()  # there is nothing in it to go on from
        raise
    skipped = parts.skipped()
    if not parts.records:
        parts.remove()  # there is nothing in it to go on from
    check_some(job, parts.records, skipped)
    blank = with_parts(job, parts.labels(), progress)
    fitted = _with_statistics(job.extractor, parts, blank)
    _write(job, fitted, parts, blank, skipped, output, progress)
    listed = list_skipped(skipped, errors_path(output))
    parts.remove()
    return Extraction(len(blank), fitted.dimension, resumed, skipped, listed)


def _blocks(
    job: ExtractionJob, start: int, workers: int | None, spread: MapInOrder | None
) -> Iterator[Block]:
    if spread is None:
        return blocks(job.collection, job.extractor, job.cutting, start=start, workers=workers)
    block_at = BlockAt(job.collection, job.extractor, job.cutting, torch.get_num_threads())
    size = block_size(job.extractor, job.cutting)
    return spread(block_at, range(start, len(job.collection), size))


def _fill(
    parts: ExtractedParts,
    job: ExtractionJob,
    strict: bool,
    progress: Progress,
    made: Callable[[], Iterator[Block]],
) -> None:
    """Extract what is not in the parts yet."""
    _refuse(job, parts.skipped(), strict)
    # Do not count earlier runs: the time left is estimated from this run.
    with progress.stage(job.extractor.name, len(job.collection) - parts.stop) as bar:
        for some in _gathered(made):
            parts.write(some)
            bar.advance(some[-1].stop - some[0].start)
            _refuse(job, [s for block in some for s in block.skipped], strict)


def _gathered(made: Callable[[], Iterator[Block]]) -> Iterator[list[Block]]:
    """Blocks, gathered until they are large enough for a file."""
    held: list[Block] = []
    size, began = 0, time.monotonic()
    for block in made():  # held by this loop alone, so that an error ends its threads
        held.append(block)
        size += block.raw.nbytes
        if size >= _BYTES or time.monotonic() - began >= _SECONDS:
            yield held
            held, size, began = [], 0, time.monotonic()
    if held:
        yield held


def _with_statistics(extractor: Extractor, parts: ExtractedParts, blank: Dataset) -> Extractor:
    if not extractor.lacks_statistics:
        return extractor
    train, moments, row = train_rows(blank), Moments(extractor.dimension), 0
    for raw, _ in parts.read():
        moments.add(raw[train[row : row + len(raw)]])
        row += len(raw)
    return extractor.with_statistics(moments.mean, moments.deviation)


def _write(
    job: ExtractionJob,
    fitted: Extractor,
    parts: ExtractedParts,
    blank: Dataset,
    skipped: list[Skipped],
    output: Path,
    progress: Progress,
) -> None:
    """Write the dataset file: finished features, labels as they are, and the requested split."""
    table = blank.table
    others = [f for f in blank.schema if f.name not in blank.layout.columns]
    kind = pa.list_(pa.float32(), fitted.dimension)
    schema = pa.schema([pa.field(FEATURES, kind), *others])
    row = 0
    with (
        open_sink(output, schema, metadata={METADATA: note_of(job, fitted, skipped)}) as sink,
        progress.stage(f"writing {output.name}", len(blank)) as bar,
    ):
        for raw, _ in parts.read():
            # A few rows at a time: a part has 32 MiB, and each step would hold another copy.
            for first in range(0, len(raw), _ROWS):
                x = np.ascontiguousarray(fitted.finish(raw[first : first + _ROWS]))
                some = table.slice(row, len(x))
                columns = [pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), x.shape[1])]
                columns += [some[f.name].combine_chunks() for f in others]
                sink.write(pa.RecordBatch.from_arrays(columns, schema=schema))
                row += len(x)
                bar.advance(len(x))


def _refuse(job: ExtractionJob, skipped: list[Skipped], strict: bool) -> None:
    if strict and skipped:
        raise UserError(
            f"{skipped[0].name} of {job.collection.name} cannot be used: {skipped[0].reason};"
            " without --strict, the same command resumes from there"
        )


def list_skipped(skipped: list[Skipped], path: Path) -> Path | None:
    """Write the list of skipped media. If there are none, remove an older list."""
    if not skipped:
        with suppress(OSError):
            path.unlink()
        return None
    rows = [{"file": s.name, "reason": s.reason} for s in skipped]
    write_bytes(path, as_csv(["file", "reason"], rows), private=True)
    return path
