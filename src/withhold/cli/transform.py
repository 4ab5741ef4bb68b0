"""`withhold transform`: apply a bundle; streams, so memory does not grow with the data."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from withhold.cli.options import Json, Quiet, check_dataset_target, choose_progress, print_json
from withhold.errors import listing

if TYPE_CHECKING:
    from withhold.bundle import Bundle
    from withhold.data.files import Source
    from withhold.progress import Progress


def transform(
    bundle: Annotated[Path, typer.Argument(help="Bundle of a fit.", metavar="BUNDLE")],
    data: Annotated[Path, typer.Argument(help="Dataset to transform.", metavar="DATA")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Release to write.")],
    features: Annotated[
        str | None, typer.Option(help="Feature columns, where not those of the fit.")
    ] = None,
    keep_labels: Annotated[
        bool,
        typer.Option(
            "--keep-labels", help="Keep the columns of the suppressed attributes in the release."
        ),
    ] = False,
    drop: Annotated[
        str, typer.Option(help="Other columns to leave out of the release, comma-separated.")
    ] = "",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write the release: modified features, without the columns of the suppressed attributes."""
    from withhold.bundle import load_bundle
    from withhold.data.files import open_source

    check_dataset_target(output, data)
    loaded = load_bundle(bundle)
    source = open_source(data)
    progress = choose_progress(quiet)
    names = source.schema.names
    gone = [] if keep_labels else [c for c in loaded.label_columns if c in names]
    gone += [c for c in _asked(drop, names, source.name) if c not in gone]
    spec = features or loaded.feature_spec
    records = stream(loaded, source, output, features=spec, drop=gone, progress=progress)
    kept = {
        attribute: {c: rate for c, rate in columns.items() if c in names and c not in gone}
        for attribute, columns in loaded.tells.items()
    }
    known = {*loaded.checked_columns, *loaded.input["columns"], *gone, "split"}
    unchecked = [c for c in names if c not in known]
    if as_json:
        result = {"release": str(output), "records": records, "dropped": gone}
        print_json(result | {"tells": kept, "unchecked": unchecked})
    elif not quiet:
        without = f" (left out: {', '.join(gone)})" if gone else ""
        typer.echo(f"{output}: {records:,} records{without}")
    for attribute, columns in kept.items():
        if columns:
            shown = ", ".join(f"{c} ({100 * rate:.1f} %)" for c, rate in columns.items())
            progress.say(
                f"warning: the release keeps columns that tell of '{attribute}' (best guess from"
                f" each alone): {shown}; leave them out with --drop {','.join(columns)}"
            )
    if unchecked:
        progress.say(
            "warning: the release keeps columns of which nobody knows what they tell (no labels, or"
            f" not in the fitted data): {listing(unchecked)};"
            " leave them out with --drop where they should not leave"
        )


def _asked(drop: str, names: list[str], name: str) -> list[str]:
    """The columns of --drop, checked."""
    from withhold.errors import UserError, did_you_mean

    columns = [c.strip() for c in drop.split(",") if c.strip()]
    for column in columns:
        if column not in names:
            raise UserError(f"column '{column}' is not in {name}{did_you_mean(column, names)}")
    return columns


def stream(
    bundle: Bundle,
    source: Source,
    output: Path,
    *,
    features: str,
    drop: list[str],
    progress: Progress,
    rows: int = 4096,
) -> int:
    """Read, modify and write batch by batch; returns the number of records.

    Writing a batch (encoding, compression) overlaps with modifying the next: Arrow and torch both
    work outside the interpreter's lock.
    """
    import numpy as np
    import pyarrow as pa

    from withhold.data.files import FeatureLayout, open_sink
    from withhold.errors import UserError
    from withhold.tables import bare_schema

    layout = FeatureLayout.resolve(source.schema, features, name=source.name)
    fitted = tuple(bundle.input["columns"])
    if layout.columns != fitted and set(layout.columns) == set(fitted):
        # The same columns in another order: what the fit saw first must still come first.
        layout = replace(layout, columns=fitted, names=fitted)
    keep = [f for f in layout.release_schema(source.schema) if f.name not in drop]
    schema = bare_schema(pa.schema(keep))
    dimension = bundle.modifier.dimension
    done = 0
    waiting: Future[Any] | None = None
    with (
        open_sink(output, schema) as sink,
        ThreadPoolExecutor(1) as writer,
        progress.stage(f"transforming {source.name}", source.num_rows) as bar,
    ):
        for batch in source.batches(rows=rows):
            x = np.array(layout.read(batch, start_row=done))
            if x.shape[1] != dimension:
                raise UserError(
                    f"{source.name} has {x.shape[1]:,} features, the bundle was fitted on"
                    f" {dimension:,}; name the same ones with --features"
                )
            x_new = bundle.modifier.transform(x)
            if not np.isfinite(x_new).all():
                row = done + int(np.argmin(np.isfinite(x_new).all(axis=1)))
                raise UserError(
                    f"row {row} of {source.name} (the first row is 0) is too large to be modified:"
                    " its release would be NaN or infinite; drop the row"
                )
            released = layout.write(batch, x_new)
            if drop:
                released = released.drop_columns(drop)
            if waiting is not None:
                waiting.result()
            waiting = writer.submit(sink.write, released)
            done += len(x)
            bar.advance(len(x))
        if waiting is not None:
            waiting.result()
    return done
