"""`withhold export`: the modifier of a bundle as an ONNX model."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from withhold.cli.help import option
from withhold.cli.options import Json, Key, Quiet, print_json
from withhold.core.terminal import wrapped


def export(
    bundle: Annotated[Path, typer.Argument(help="Bundle from withhold fit.", metavar="BUNDLE")],
    output: Annotated[Path, option("ONNX model to write (.onnx).", None, "--output", "-o")],
    key: Key = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write the modifier as an ONNX model, for programs without Python.

    The model takes its random numbers as inputs. It contains neither the key nor any name of an
    attribute or class. Whoever has the file can make as many draws of a record as they like, so
    keep it as private as the bundle.
    """
    from withhold.actions.export import ExportRequest
    from withhold.actions.export import export as exported

    done = exported(ExportRequest(bundle=bundle, output=output, key=key))
    if as_json:
        print_json(asdict(done) | {"path": str(done.path)})
        return
    for warning in done.warnings:
        print(wrapped(f"warning: {warning}", sys.stderr), file=sys.stderr)
    if not quiet:
        drawn = f"; draws: {', '.join(done.draws)}" if done.draws else "; no draws"
        typer.echo(
            f"{output}: {done.method}, {done.size / 2**20:.1f} MiB; inputs:"
            f" {', '.join(done.inputs)}{drawn}"
        )
        typer.echo(f"sha256 {done.sha256}")
