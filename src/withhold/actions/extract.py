"""The action `extract`: media to a file of features."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from pydantic import Field

from withhold.actions.engine_options import EngineOptions
from withhold.actions.request import Opening, Request
from withhold.core.errors import UserError
from withhold.core.output_targets import check_target
from withhold.core.progress import Progress, Silent
from withhold.media.extract_features import ExtractionJob, plan
from withhold.media.to_file import Extraction, extract_to
from withhold.records.readers.collection import FILE
from withhold.records.writers import check_sink


class ExtractRequest(Request):
    """Media, how to open and cut them, the extractor, and where to write the features."""

    media: Path
    output: Path
    extractor: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    opening: Opening = Opening()
    names: Path | None = None
    test: str | None = None
    like: Path | None = None
    clips: int | None = Field(None, ge=1)
    annotations: Path | None = None
    strict: bool = False
    of_engine: EngineOptions = EngineOptions()


def extract(
    request: ExtractRequest, progress: Progress | None = None
) -> tuple[ExtractionJob, Extraction]:
    """Extract the features. Call it again to resume an interrupted run."""
    progress = progress or Silent()
    output = request.output
    check_target(output, request.media)
    check_sink(output)
    if output.name.lower().endswith((".csv", ".csv.gz")):
        raise UserError(f"{output} cannot hold features in a list column; name it .parquet or .npz")
    job = plan(
        request.media,
        extractor=request.extractor,
        settings=request.settings,
        names=request.names,
        test=request.test,
        like=request.like,
        clips=request.clips,
        annotations=request.annotations,
        **request.opening.given(),
    )
    if job.collection.schema.names == [FILE] and not job.cutting.fields:
        listed = request.media / "manifest.csv"
        way_out = "read them from its names with --pattern, or give a table of paths and labels"
        if listed.is_file():
            way_out = f"they are in {listed}, so extract that file instead"
        progress.say(f"{job.collection.name} has no labels: {way_out}")
    options = request.of_engine
    with options.open(progress) as engine:
        if engine.elsewhere:
            _check_sendable(job, options.engine)
        spread = engine.map if engine.elsewhere else None
        done = extract_to(
            job,
            output,
            strict=request.strict,
            progress=progress,
            workers=options.workers,
            spread=spread,
        )
    return job, done


def _check_sendable(job: ExtractionJob, engine: str) -> None:
    """Refuse an extractor that holds what only this process has, such as a session of a library."""
    try:
        pickle.dumps((job.collection, job.extractor, job.cutting))
    except Exception as error:
        raise UserError(
            f"extractor '{job.extractor.name}' on {job.collection.name} cannot be sent to the"
            f" workers of {engine}; use --engine local"
        ) from error
