"""`withhold transform`: apply a bundle; streams, so memory does not grow with the data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from withhold.cli.help import DATA, MEDIA, RELEASE
from withhold.cli.options import (
    AllowOutside,
    Column,
    DataOrMedia,
    Json,
    Key,
    Pattern,
    Quiet,
    Rate,
    choose_progress,
    print_json,
)
from withhold.cli.released import said, tell_columns

if TYPE_CHECKING:
    from withhold.bundle.bundle import Bundle


def transform(
    bundle: Annotated[Path, typer.Argument(help="Bundle of a fit.", metavar="BUNDLE")],
    data: DataOrMedia,
    output: Annotated[Path, typer.Option("--output", "-o", help="Release to write.")],
    features: Annotated[
        str | None,
        typer.Option(help="Feature columns, where not those of the fit.", rich_help_panel=DATA),
    ] = None,
    keep_labels: Annotated[
        bool,
        typer.Option(
            "--keep-labels",
            help="Keep the suppressed attributes and copies of them, for work inside the house.",
            rich_help_panel=RELEASE,
        ),
    ] = False,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns to leave out, comma-separated; repeatable.", rich_help_panel=RELEASE
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns to take along whatever they tell, comma-separated; repeatable. The"
            " certificate does not cover them.",
            rich_help_panel=RELEASE,
        ),
    ] = None,
    same_order: Annotated[
        bool,
        typer.Option(
            "--same-order",
            help="Keep the order of the rows, which may tell of people.",
            rich_help_panel=RELEASE,
        ),
    ] = False,
    shape: Annotated[
        str,
        typer.Option(
            "--as",
            help="Of a codebook: code (its vector), sample (a member made up near it), or index"
            " (its number, with the table of codes beside the release).",
            rich_help_panel=RELEASE,
        ),
    ] = "code",
    pattern: Pattern = None,
    column: Column = None,
    rate: Rate = None,
    allow_outside: AllowOutside = False,
    keep_names: Annotated[
        bool,
        typer.Option(
            "--keep-names",
            help="Media: keep the names of files, which may tell of people.",
            rich_help_panel=MEDIA,
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Media: fail at the first that cannot be released.",
            rich_help_panel=MEDIA,
        ),
    ] = False,
    key: Key = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write the release: what the method made, and the columns that tell nothing.

    Every other column is measured on these records. Suppressed attributes, groups, ids, names of
    files, bytes, copies of the features and columns that tell of a suppressed attribute are left
    out and named. The rows leave in a random order; NAME.rows.csv says which is which and stays in
    the house. NAME.certificate.json says what is proved of these rows.

    Of a bundle for media: media of the same kind and form, with nothing in them but the sample
    (sound becomes mono, clips are silent). Files get numbers for names; RELEASE.names.csv says
    which is which, and RELEASE.left-out.csv what could not be released, and why.
    """
    from withhold.actions.release import FeatureOptions, MediaOptions, ReleaseRequest, release
    from withhold.release import Wishes

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
        ),
        key=key,
    )
    loaded, written = release(request, choose_progress(quiet))
    if as_json:
        print_json({"release": str(output), "records": written.records} | said(written))
    elif not quiet:
        what = "records" if written.kind == "features" else f"{written.kind}s"
        tell_columns(f"{output}: {written.records:,} {what}", written)
        if written.codes is not None:
            typer.echo(_compact(loaded, written.records, output, written.codes))


def _compact(bundle: Bundle, records: int, output: Path, codes: Path) -> str:
    """How much smaller numbers are than features."""
    full = 4 * int(bundle.input["features"])
    files = output.stat().st_size + codes.stat().st_size
    return (
        f"{codes}: the table of codes; 2 bytes a record instead of {full:,} ({full // 2:,} times"
        f" smaller; both files together {files / max(records, 1):,.1f} bytes a record)"
    )
