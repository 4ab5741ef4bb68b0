"""What a command prints about a release: which columns left, which did not, and why."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from withhold.core.terminal import wrapped

if TYPE_CHECKING:
    from pathlib import Path

    from withhold.release.release_files import Written


def said(written: Written) -> dict[str, Any]:
    """The result of a release, for --json."""
    decision = written.decision
    media: dict[str, Any] = {}
    if written.kind != "features":
        media = {
            "skipped": len(written.skipped),
            "left_out": _shown(written.left_out),
            "names": _shown(written.names),
        }
    return media | {
        "columns": written.columns,
        "dropped": list(decision.left_out),
        "left_out_because": decision.left_out,
        "kept_by_name": decision.kept_by_name,
        "linking": decision.linking,
        "tells": decision.tells,
        "unchecked": decision.unchecked,
        "unchecked_here": decision.unchecked_here,
        "same_order": written.same_order,
        "rows": _shown(written.rows),
        "certificate": _shown(written.certificate),
        "codes": _shown(written.codes),
    }


def tell_columns(headline: str, written: Written) -> None:
    """Print one line for the release and one for each column that was left out."""
    decision = written.decision
    order = "the order of the original" if written.same_order else "a random order"
    held = f" with {', '.join(written.columns)}" if written.columns else ""
    # Media files are numbered at random; only a table has an order.
    files = written.kind != "features" and written.rows is None and not written.same_order
    line = f"{headline}{held}" if files else f"{headline}{held}; rows in {order}"
    typer.echo(wrapped(line, sys.stdout))
    if decision.left_out:
        width = max(len(name) for name in decision.left_out)
        typer.echo("left out:")
        for name, why in decision.left_out.items():
            line = f"  {name:<{width}}  {why}"
            typer.echo(wrapped(line, sys.stdout, indent=" " * min(width + 4, 24)))
        if any(not c.leaves and c.rule not in FINAL for c in decision.columns):
            cover = "; the certificate then does not cover it" if written.certificate else ""
            typer.echo(f"--keep COLUMN releases one anyway{cover}")
    if decision.kept_by_name:
        names = ", ".join(decision.kept_by_name)
        cover = "even if they reveal something"
        if written.certificate:
            cover = "not covered by the certificate"
            if decision.people:
                cover += ", neither in one row nor in the rows of one person together"
        line = f"warning: kept by name, {cover}: {names}"
        typer.echo(wrapped(line, sys.stderr), err=True)
    linked = decision.whose_row(same_order=written.same_order)
    if written.certificate and linked:
        typer.echo(wrapped(f"warning: {linked}", sys.stderr), err=True)
    if decision.unchecked_here:
        names = ", ".join(decision.unchecked_here)
        line = (
            f"warning: there are no labels here to check {names}, which revealed nothing in the"
            " data of the fit; --drop leaves them out"
        )
        typer.echo(wrapped(line, sys.stderr), err=True)
    if written.rows is not None:
        typer.echo(f"{written.rows}: which row became which; keep it private")
    if written.names is not None:
        typer.echo(f"{written.names}: which file became which; keep it private")
    if written.skipped:
        typer.echo(f"{len(written.skipped):,} could not be released; see {written.left_out}")
    if written.certificate is not None:
        typer.echo(f"{written.certificate}: what is proved about these rows")


def near(path: Path) -> Path:
    """The path from the working folder if it lies below, as most people typed it."""
    from pathlib import Path

    here = Path.cwd().resolve()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _shown(path: Path | None) -> str | None:
    return None if path is None else str(path)


FINAL = ("suppressed", "copy", "dropped")  # rules that --keep does not override
