"""Options that several commands share, and how they print."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from withhold.errors import UserError
from withhold.progress import Bars, Lines, Progress, Silent

if TYPE_CHECKING:
    from withhold.dataset import Dataset

Data = Annotated[Path, typer.Argument(help="Dataset: Parquet, CSV or npz.", metavar="DATA")]
Features = Annotated[
    str,
    typer.Option(
        help="The list column that holds the features, or names and globs of numeric columns"
        ' ("f_*,age").'
    ),
]
Group = Annotated[str | None, typer.Option(help="The column that names the person or source.")]
Exclude = Annotated[
    str | None, typer.Option(help="Columns that are no attributes, comma-separated.")
]
MultiLabel = Annotated[
    list[str] | None,
    typer.Option(
        "--multilabel",
        help="An attribute of several binary columns, as NAME=COLUMN,COLUMN,…; repeatable.",
    ),
]
Suppress = Annotated[str, typer.Option(help="Attributes to hide, comma-separated.")]
Preserve = Annotated[str, typer.Option(help="Attributes to keep, comma-separated.")]
Test = Annotated[
    str | None,
    typer.Option(help='Hold out the records for which this holds, e.g. "take>=30".'),
]
Seed = Annotated[int, typer.Option(help="Decides every draw.", min=0)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def choose_progress(quiet: bool) -> Progress:
    """Silent if asked, bars in a terminal, lines elsewhere."""
    if quiet:
        return Silent()
    return Bars() if sys.stderr.isatty() else Lines()


def read_dataset(
    path: Path,
    *,
    features: str = "x",
    group: str | None = None,
    exclude: str | None = None,
    multilabel: list[str] | None = None,
    test: str | None = None,
    progress: Progress,
) -> Dataset:
    """A dataset as the options describe it."""
    from withhold.dataset import Dataset

    data = Dataset.read(
        path,
        features=features,
        group=group,
        exclude=[c.strip() for c in (exclude or "").split(",") if c.strip()],
        multilabel=_multilabel(multilabel),
        progress=progress,
    )
    return data if test is None else data.with_test_where(test)


def _multilabel(options: list[str] | None) -> Mapping[str, list[str]]:
    out = {}
    for option in options or []:
        name, equals, columns = option.partition("=")
        if not equals or not columns:
            raise UserError(f"--multilabel '{option}' is not NAME=COLUMN,COLUMN,…")
        out[name.strip()] = [c.strip() for c in columns.split(",") if c.strip()]
    return out


def read_yaml(path: Path | None) -> dict[str, Any]:
    """Settings from a YAML file."""
    if path is None:
        return {}
    import yaml

    try:
        found = yaml.safe_load(path.read_text())
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise UserError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    if found is not None and not isinstance(found, dict):
        raise UserError(f"{path} must hold settings as NAME: VALUE lines")
    return found or {}


def check_target(path: Path, *inputs: Path) -> None:
    """Refuse an output that cannot be written, or that is an input, before any work is done."""
    import os

    from withhold.data.files import same_file

    for given in inputs:
        if same_file(path, given):
            raise UserError(f"{path} is the input; choose another -o")
    parent = path.absolute().parent
    if not parent.is_dir():
        raise UserError(f"folder {path.parent} does not exist, so {path.name} cannot be made there")
    if not os.access(parent, os.W_OK):
        raise UserError(f"folder {path.parent} cannot be written (no permission)")


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(value, indent=2))
