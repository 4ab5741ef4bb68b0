"""`withhold extract`: media to features."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from withhold.cli.options import (
    Json,
    Quiet,
    Test,
    check_dataset_target,
    choose_progress,
    print_json,
)
from withhold.errors import UserError


def extract(
    media: Annotated[Path, typer.Argument(help="Parquet file with sound.", metavar="MEDIA")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Dataset to write.")],
    extractor: Annotated[str, typer.Option(help="The extractor: logmel.")] = "logmel",
    column: Annotated[str | None, typer.Option(help="The column that holds the sound.")] = None,
    rate: Annotated[int | None, typer.Option(help="Samples a second.", min=1)] = None,
    test: Test = None,
    like: Annotated[
        Path | None, typer.Option(help="Use the extractor and statistics of this dataset.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Turn media into a dataset of feature vectors."""
    from withhold.media.extract import extract as run

    check_dataset_target(output, media)
    if ".csv" in output.suffixes:
        raise UserError(f"{output} cannot hold features in a list column; name it .parquet or .npz")
    progress = choose_progress(quiet)
    data = run(
        media,
        extractor=extractor,
        column=column,
        rate=rate,
        test=test,
        like=like,
        progress=progress,
    )
    data.write(output)
    if as_json:
        print_json({"output": str(output), "records": len(data), "features": data.dimension})
    elif not quiet:
        typer.echo(f"{output}: {len(data):,} records of {data.dimension:,} features ({extractor})")
