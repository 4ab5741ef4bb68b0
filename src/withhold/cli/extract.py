"""`withhold extract`: media to features."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from withhold.cli.help import MEDIA, option
from withhold.cli.options import (
    AllowOutside,
    Column,
    Engine,
    Json,
    Names,
    Pattern,
    Quiet,
    Rate,
    Set,
    Test,
    Weights,
    Workers,
    choose_progress,
    extractor_settings,
    print_json,
)


def _list(asked: bool) -> None:
    if asked:
        typer.echo(_listed())
        raise typer.Exit


def extract(
    media: Annotated[
        Path,
        typer.Argument(
            help="A folder, a table (Parquet, CSV) of paths or bytes, or an npz of pixels.",
            metavar="MEDIA",
        ),
    ],
    output: Annotated[Path, option("Dataset to write.", None, "--output", "-o")],
    extractor: Annotated[
        str | None,
        option("How to make features; --list shows the choices (default: logmel).", MEDIA),
    ] = None,
    list_: Annotated[
        bool,
        typer.Option("--list", callback=_list, is_eager=True, help="Show the extractors and exit."),
    ] = False,
    weights: Weights = None,
    download: Annotated[
        bool, option("Allow downloading weights from the model hub.", MEDIA, "--download")
    ] = False,
    settings: Set = None,
    pattern: Pattern = None,
    column: Column = None,
    rate: Rate = None,
    names: Names = None,
    allow_outside: AllowOutside = False,
    test: Test = None,
    like: Annotated[
        Path | None, option("Use the same extractor and statistics as this dataset.", MEDIA)
    ] = None,
    clips: Annotated[
        int | None, option("Number of windows per video, equally spaced.", MEDIA, min=1)
    ] = None,
    annotations: Annotated[
        Path | None,
        option("JSON file with labels for parts of videos; each part becomes one window.", MEDIA),
    ] = None,
    strict: Annotated[
        bool, option("Stop with an error at the first file that cannot be used.", MEDIA, "--strict")
    ] = False,
    engine: Engine = "local",
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Turn media into a dataset of feature vectors.

    Memory use does not grow with the data. If a run is interrupted, the same command resumes it.
    Files that cannot be used are skipped and listed in NAME.errors.csv beside the dataset.
    """
    from withhold.actions.engine_options import EngineOptions
    from withhold.actions.extract import ExtractRequest
    from withhold.actions.extract import extract as extracted
    from withhold.actions.request import Opening

    request = ExtractRequest(
        media=media,
        output=output,
        extractor=extractor,
        settings=extractor_settings(settings, weights, download),
        opening=Opening(pattern=pattern, column=column, rate=rate, allow_outside=allow_outside),
        names=names,
        test=test,
        like=like,
        clips=clips,
        annotations=annotations,
        strict=strict,
        of_engine=EngineOptions(engine=engine, workers=workers),
    )
    job, done = extracted(request, choose_progress(quiet))
    others = getattr(job.collection, "others", 0)
    if as_json:
        print_json(
            {
                "output": str(output),
                "records": done.records,
                "features": done.features,
                "extractor": job.extractor.name,
                "skipped": len(done.skipped),
                "errors": None if done.errors is None else str(done.errors),
                "others": others,
            }
        )
    elif not quiet:
        name = job.extractor.name
        typer.echo(f"{output}: {done.records:,} records of {done.features:,} features ({name})")
        if done.skipped:
            typer.echo(f"{len(done.skipped):,} could not be used; see {done.errors}")
        if others:
            what = "file of another kind was" if others == 1 else "files of other kinds were"
            typer.echo(f"{others:,} {what} ignored")


def _listed() -> str:
    """One paragraph per extractor."""
    from withhold.media.extractors.extractor_registry import EXTRACTORS, extractor_type

    lines = []
    for name in EXTRACTORS:
        of = extractor_type(name)
        lines.append(f"{name:<14} {of.kind:<6} {of.takes}")
        lines.append(f"{'':<21} weights: {of.source}; licence: {of.licence}")
    return "\n".join(lines)
