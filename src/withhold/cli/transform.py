"""`withhold transform`: apply a bundle. It streams, so memory does not grow with the data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from withhold.cli.help import DATA, MEDIA, RELEASE, option
from withhold.cli.options import (
    AllowOutside,
    Column,
    DataOrMedia,
    Engine,
    Json,
    Key,
    Pattern,
    Quiet,
    Rate,
    Workers,
    choose_progress,
    named_value,
    print_json,
)
from withhold.cli.released import said, tell_columns

if TYPE_CHECKING:
    from withhold.bundle.bundle import Bundle


def transform(
    bundle: Annotated[Path, typer.Argument(help="Bundle from withhold fit.", metavar="BUNDLE")],
    data: DataOrMedia,
    output: Annotated[Path, option("Release to write.", None, "--output", "-o")],
    features: Annotated[
        str | None, option("Feature columns, if they differ from the fit.", DATA)
    ] = None,
    keep_labels: Annotated[
        bool,
        option(
            "Keep the suppressed attributes and copies of them. Only for private use.",
            RELEASE,
            "--keep-labels",
        ),
    ] = False,
    drop: Annotated[
        list[str] | None, option("Columns to leave out, comma-separated. Repeatable.", RELEASE)
    ] = None,
    keep: Annotated[
        list[str] | None,
        option(
            "Columns to release even if they reveal something, comma-separated. Repeatable."
            " The certificate does not cover them.",
            RELEASE,
        ),
    ] = None,
    same_order: Annotated[
        bool,
        option("Keep the order of the rows, which may reveal people.", RELEASE, "--same-order"),
    ] = False,
    shape: Annotated[
        str,
        option(
            "What each record of a codebook becomes: code (the vector of its code), sample (a"
            " synthetic record near it), or index (the number of its code, with the table of codes"
            " beside the release).",
            RELEASE,
            "--as",
        ),
    ] = "code",
    to: Annotated[
        list[str] | None,
        option(
            "The new class of a replaced attribute, as NAME=CLASS; by default it is drawn."
            " Repeatable. Method replace.",
            MEDIA,
            "--to",
        ),
    ] = None,
    pattern: Pattern = None,
    column: Column = None,
    rate: Rate = None,
    allow_outside: AllowOutside = False,
    keep_names: Annotated[
        bool,
        option("Keep the names of media files, which may reveal people.", MEDIA, "--keep-names"),
    ] = False,
    strict: Annotated[
        bool,
        option(
            "Stop with an error at the first medium that cannot be released.", MEDIA, "--strict"
        ),
    ] = False,
    engine: Engine = "local",
    workers: Workers = None,
    key: Key = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Apply a bundle to records, and write the release.

    A release of features contains the modified features, and the columns that reveal nothing about
    a suppressed attribute. Every other column is measured on these records. Suppressed attributes,
    groups, ids, file names, bytes, copies of the features and columns that reveal a suppressed
    attribute are left out and listed. The rows are in a random order. NAME.rows.csv says which row
    became which; keep it private. NAME.certificate.json says what is proved about these rows.

    A release of media has the same kind and form as the original, and contains only the samples:
    sound becomes mono, clips become silent. Files are named by numbers. RELEASE.names.csv says
    which file became which; keep it private. RELEASE.left-out.csv lists the media that could not be
    released, and why.
    """
    from withhold.actions.engine_options import EngineOptions
    from withhold.actions.release import (
        FeatureOptions,
        MediaOptions,
        ReleaseRequest,
        release_files,
    )
    from withhold.release.wishes import Wishes

    request = ReleaseRequest(
        bundle=bundle,
        data=data,
        output=output,
        wishes=Wishes.of(
            keep=keep or [], drop=drop or [], keep_labels=keep_labels, same_order=same_order
        ),
        of_features=FeatureOptions(features=features, shape=shape),
        of_media=MediaOptions(
            pattern=pattern,
            column=column,
            rate=rate,
            allow_outside=allow_outside,
            keep_names=keep_names,
            strict=strict,
            to=dict(named_value("--to", given) for given in to or []),
        ),
        of_engine=EngineOptions(engine=engine, workers=workers),
        key=key,
    )
    loaded, written = release_files(request, choose_progress(quiet))
    if as_json:
        print_json({"release": str(output), "records": written.records} | said(written))
    elif not quiet:
        what = "records" if written.kind == "features" else f"{written.kind}s"
        tell_columns(f"{output}: {written.records:,} {what}", written)
        if written.codes is not None:
            typer.echo(_compact(loaded, written.records, output, written.codes))


def _compact(bundle: Bundle, records: int, output: Path, codes: Path) -> str:
    """How much smaller the numbers of codes are than features."""
    full = 4 * int(bundle.input["features"])
    files = output.stat().st_size + codes.stat().st_size
    return (
        f"{codes}: the table of codes; 2 bytes per record instead of {full:,} ({full // 2:,} times"
        f" smaller; both files together {files / max(records, 1):,.1f} bytes per record)"
    )
