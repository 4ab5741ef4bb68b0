"""`withhold transform`: apply a bundle; streams, so memory does not grow with the data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from withhold.cli.columns import warn_of_columns
from withhold.cli.media import transform_media
from withhold.cli.options import (
    AllowOutside,
    Column,
    DataOrMedia,
    Json,
    Key,
    Pattern,
    Quiet,
    Rate,
    check_dataset_target,
    choose_progress,
    print_json,
)
from withhold.errors import UserError

if TYPE_CHECKING:
    from withhold.bundle import Bundle


def transform(
    bundle: Annotated[Path, typer.Argument(help="Bundle of a fit.", metavar="BUNDLE")],
    data: DataOrMedia,
    output: Annotated[Path, typer.Option("--output", "-o", help="Release to write.")],
    features: Annotated[
        str | None, typer.Option(help="Feature columns, where not those of the fit.")
    ] = None,
    keep_labels: Annotated[
        bool,
        typer.Option(
            "--keep-labels",
            help="Keep the suppressed attributes, and the names of files, in the release.",
        ),
    ] = False,
    drop: Annotated[
        str, typer.Option(help="Other columns to leave out of the release, comma-separated.")
    ] = "",
    shape: Annotated[
        str,
        typer.Option(
            "--as",
            help="Of a codebook: code (its vector), sample (a member made up near it), or index"
            " (its number, with the table of codes beside the release).",
        ),
    ] = "code",
    pattern: Pattern = None,
    column: Column = None,
    rate: Rate = None,
    allow_outside: AllowOutside = False,
    keep_names: Annotated[
        bool,
        typer.Option(
            "--keep-names", help="Media: keep the names of files, which may tell of people."
        ),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Media: fail at the first that cannot be released.")
    ] = False,
    key: Key = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write the release: modified features, without the columns of the suppressed attributes.

    Of a bundle for media: media of the same kind and form, with nothing in them but the sample
    (sound becomes mono, clips are silent). Files get numbers for names; RELEASE.names.csv says
    which is which, and RELEASE.left-out.csv what could not be released, and why.
    """
    from withhold.bundle import load_bundle
    from withhold.data.files import open_source
    from withhold.media.collect.collection import FILE
    from withhold.media.extract import METADATA
    from withhold.media_bundle import holds_media
    from withhold.streaming import check_shape, codes_path, stream

    of_media = {
        "--pattern": pattern is not None,
        "--column": column is not None,
        "--rate": rate is not None,
        "--allow-outside": allow_outside,
        "--keep-names": keep_names,
        "--strict": strict,
    }
    of_features = {"--features": features is not None, "--as": shape != "code"}
    changes_media = holds_media(bundle)
    for option, given in (of_features if changes_media else of_media).items():
        if given:
            what = "media" if changes_media else "features"
            raise UserError(f"bundle {bundle} changes {what}; {option} means nothing to it")
    if changes_media:
        transform_media(
            bundle,
            data,
            output,
            where={"pattern": pattern, "column": column, "rate": rate},
            allow_outside=allow_outside,
            drop=[c.strip() for c in drop.split(",") if c.strip()],
            keep_labels=keep_labels,
            keep_names=keep_names,
            strict=strict,
            key=key,
            quiet=quiet,
            as_json=as_json,
        )
        return
    check_dataset_target(output, data)
    loaded = load_bundle(bundle, key=key)
    if data.is_dir():
        raise UserError(
            f"{data} is a folder of media, and {bundle} changes features; make them with:"
            f" withhold extract {data} --like DATA -o FEATURES, where DATA is what was fitted"
        )
    form = check_shape(loaded, shape)
    if form == "index":
        check_dataset_target(codes_path(output), data, output)
    source = open_source(data)
    progress = choose_progress(quiet)
    names = source.schema.names
    gone = [] if keep_labels else [c for c in loaded.label_columns if c in names]
    if FILE in names and METADATA in (source.schema.metadata or {}) and not keep_labels:
        gone.append(FILE)  # what files are called tells of people
    gone += [c for c in _asked(drop, names, source.name) if c not in gone]
    spec = features or loaded.feature_spec
    records = stream(
        loaded, source, output, features=spec, drop=gone, progress=progress, shape=form
    )
    kept = {
        attribute: {c: rate for c, rate in columns.items() if c in names and c not in gone}
        for attribute, columns in loaded.tells.items()
    }
    known = {*loaded.checked_columns, *loaded.input["columns"], *gone, "split"}
    unchecked = [c for c in names if c not in known]
    if as_json:
        result = {"release": str(output), "records": records, "dropped": gone}
        result |= {"codes": str(codes_path(output))} if form == "index" else {}
        print_json(result | {"tells": kept, "unchecked": unchecked})
    elif not quiet:
        without = f" (left out: {', '.join(gone)})" if gone else ""
        typer.echo(f"{output}: {records:,} records{without}")
        if form == "index":
            typer.echo(_compact(loaded, records, output, codes_path(output)))
    warn_of_columns(kept, unchecked, "no labels, or not in the fitted data", progress)


def _asked(drop: str, names: list[str], name: str) -> list[str]:
    """The columns of --drop, checked."""
    from withhold.errors import did_you_mean

    columns = [c.strip() for c in drop.split(",") if c.strip()]
    for column in columns:
        if column not in names:
            raise UserError(f"column '{column}' is not in {name}{did_you_mean(column, names)}")
    return columns


def _compact(bundle: Bundle, records: int, output: Path, codes: Path) -> str:
    """How much smaller numbers are than features."""
    full = 4 * bundle.modifier.dimension
    files = output.stat().st_size + codes.stat().st_size
    return (
        f"{codes}: the table of codes; 2 bytes a record instead of {full:,} ({full // 2:,} times"
        f" smaller; both files together {files / max(records, 1):,.1f} bytes a record)"
    )
