"""Options that several commands share, and helpers to print."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from withhold.cli.help import DATA, ENGINE, MEDIA, ROLES, option
from withhold.core.errors import UserError
from withhold.core.progress import Bars, Lines, Progress, Silent

if TYPE_CHECKING:
    from withhold.actions.request import DataOptions

Data = Annotated[
    Path,
    typer.Argument(help="Dataset: Parquet, CSV, TSV, JSON Lines, Excel or npz.", metavar="DATA"),
]
DataOrMedia = Annotated[
    Path,
    typer.Argument(
        help="Dataset (Parquet, CSV, TSV, JSON Lines, Excel, npz), or media.", metavar="DATA"
    ),
]
Features = Annotated[
    str | None,
    option(
        "The list column with the features (default: x), or names and patterns of numeric columns"
        ' ("f_*,age").',
        DATA,
    ),
]
Group = Annotated[str | None, option("The column that names the person or source.", DATA)]
Exclude = Annotated[str | None, option("Columns that are not attributes, comma-separated.", DATA)]
MultiLabel = Annotated[
    list[str] | None,
    option(
        "An attribute made of several binary columns, as NAME=COLUMN,COLUMN,…. Repeatable.",
        DATA,
        "--multilabel",
    ),
]
Delimiter = Annotated[
    str | None, option("What separates the fields of a CSV file (default: guessed).", DATA)
]
Text = Annotated[
    str | None,
    option(
        "Model for free text of a table (minilm): its embedding joins the columns; without it, free"
        " text is left out.",
        DATA,
    ),
]
Suppress = Annotated[str, option("Attributes to suppress, comma-separated.", ROLES)]
Preserve = Annotated[str, option("Attributes to preserve, comma-separated.", ROLES)]
Test = Annotated[
    str | None,
    option('Use the records that meet this condition as test part, e.g. "take>=30".', DATA),
]
Pattern = Annotated[
    str | None, option('How file names contain labels, e.g. "{age}_{gender}_*.jpg".', MEDIA)
]
Column = Annotated[
    str | None, option("The column of a table with the media or their paths.", MEDIA)
]
Log = Annotated[
    list[str] | None,
    option(
        "Log figures, never data, for another tool: tensorboard:DIR or mlflow:DIR. Repeatable.",
        None,
        "--log",
    ),
]
Key = Annotated[
    Path | None,
    option("Your copy of the key. A bundle with another key is refused.", None, "--key"),
]
Rate = Annotated[
    int | None, option("Sample rate in Hz of raw sound without a header.", MEDIA, min=1)
]
Names = Annotated[
    Path | None,
    option("The list of original file names that a release wrote beside its folder.", MEDIA),
]
AllowOutside = Annotated[
    bool,
    option(
        "Allow paths and links that lead outside the folder of the data, if you trust it.",
        MEDIA,
        "--allow-outside",
    ),
]
Weights = Annotated[
    str | None,
    option("Weights of the extractor: a file, a folder, or a name on the model hub.", MEDIA),
]
Set = Annotated[
    list[str] | None,
    option("A setting of the extractor, as NAME=VALUE. Repeatable.", MEDIA, "--set"),
]
Engine = Annotated[
    str,
    option(
        "Where the work runs: local, ray or spark. The result is the same.",
        ENGINE,
    ),
]
Workers = Annotated[
    int | None,
    option("Workers of the engine (default: one for every core).", ENGINE, min=1),
]
Seed = Annotated[int, option("Seed of all random choices.", min=0)]
Quiet = Annotated[bool, option("Print no progress and no notes.", None, "--quiet", "-q")]
Json = Annotated[bool, option("Print the result as JSON.", None, "--json")]


def choose_progress(quiet: bool) -> Progress:
    """Silent if `quiet`, bars in a terminal, lines elsewhere."""
    if quiet:
        return Silent()
    return Bars() if sys.stderr.isatty() else Lines()


def text_model(name: str | None) -> dict[str, Any]:
    """What --text says, for `DataOptions`."""
    if name not in (None, "minilm"):
        raise UserError(f"--text '{name}' is no model for text in tables; use minilm")
    return {} if name is None else {"text": name}


def reading(
    features: str | None = None,
    group: str | None = None,
    exclude: str | None = None,
    multilabel: list[str] | None = None,
    test: str | None = None,
    delimiter: str | None = None,
) -> DataOptions:
    """The options of the command line for reading a dataset, as `DataOptions`."""
    from withhold.actions.request import DataOptions

    named: dict[str, Any] = {} if features is None else {"features": features}
    return DataOptions(
        **named,
        group=group,
        exclude=tuple(c.strip() for c in (exclude or "").split(",") if c.strip()),
        multilabel=_multilabel(multilabel),
        test=test,
        delimiter=delimiter,
    )


def _multilabel(options: list[str] | None) -> dict[str, tuple[str, ...]]:
    out = {}
    for given in options or []:
        name, equals, columns = given.partition("=")
        name, labels = name.strip(), [c.strip() for c in columns.split(",") if c.strip()]
        if not equals or not name or not labels:
            raise UserError(f"--multilabel '{given}' is not NAME=COLUMN,COLUMN,…")
        if name in out:
            raise UserError(f"--multilabel names '{name}' twice; give all its columns at once")
        out[name] = tuple(labels)
    return out


def read_yaml(path: Path | None) -> dict[str, Any]:
    """Settings from a YAML file."""
    from withhold.core.settings import read_settings

    return {} if path is None else read_settings(path)


def settings_by_name(given: list[str] | None) -> dict[str, Any]:
    """What `--set NAME=VALUE` says, parsed as YAML: numbers, true and false, lists, text.

    A dot leads into a group of settings: `contrastive.epochs=30`.
    """
    from withhold.core.settings import parse_yaml

    out: dict[str, Any] = {}
    for setting in given or []:
        name, value = named_value("--set", setting)
        *groups, last = name.split(".")
        inside = out
        for group in groups:
            inside = inside.setdefault(group, {})
            if not isinstance(inside, dict):
                raise UserError(f"--set '{setting}': '{group}' was set to a value before")
        try:
            inside[last] = parse_yaml(value, "the value")
        except UserError as error:
            raise UserError(f"--set '{setting}': the value cannot be read") from error
    return out


def named_value(option: str, given: str) -> tuple[str, str]:
    """Name and value of a NAME=VALUE."""
    name, equals, value = given.partition("=")
    if not equals or not name.strip():
        raise UserError(f"{option} '{given}' is not NAME=VALUE")
    return name.strip(), value


def extractor_settings(
    given: list[str] | None, weights: str | None, download: bool
) -> dict[str, Any]:
    """Settings of an extractor."""
    out = settings_by_name(given)
    if weights is not None:
        out["weights"] = weights
    if download:
        out["download"] = True
    return out


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(value, indent=2))
