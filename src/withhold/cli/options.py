"""Options that several commands share, and how they print."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from withhold.core.errors import UserError
from withhold.core.progress import Bars, Lines, Progress, Silent

if TYPE_CHECKING:
    from withhold.records.dataset import Dataset

Data = Annotated[Path, typer.Argument(help="Dataset: Parquet, CSV or npz.", metavar="DATA")]
DataOrMedia = Annotated[
    Path, typer.Argument(help="Dataset (Parquet, CSV, npz), or media.", metavar="DATA")
]
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
Pattern = Annotated[
    str | None,
    typer.Option(help='Labels from the names in a folder, e.g. "{age}_{gender}_*.jpg".'),
]
Column = Annotated[
    str | None, typer.Option(help="The column of a table that holds the media, or their paths.")
]
Key = Annotated[
    Path | None,
    typer.Option(
        "--key", help="Your copy of the bundle's key; a bundle of another key is refused."
    ),
]
Rate = Annotated[int | None, typer.Option(help="Samples a second of bare sound.", min=1)]
Names = Annotated[
    Path | None,
    typer.Option(help="The list that a release left beside its folder: what files were called."),
]
AllowOutside = Annotated[
    bool,
    typer.Option(
        "--allow-outside",
        help="A table of paths may name files outside its own folder; for tables you trust.",
    ),
]
Weights = Annotated[
    str | None, typer.Option(help="Weights: a file, a folder, or a name on the model hub.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting of the extractor, as NAME=VALUE; repeatable."),
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
    from withhold.records.dataset import Dataset

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
        name, labels = name.strip(), [c.strip() for c in columns.split(",") if c.strip()]
        if not equals or not name or not labels:
            raise UserError(f"--multilabel '{option}' is not NAME=COLUMN,COLUMN,…")
        if name in out:
            raise UserError(f"--multilabel names '{name}' twice; give all its columns at once")
        out[name] = labels
    return out


def read_yaml(path: Path | None) -> dict[str, Any]:
    """Settings from a YAML file."""
    from withhold.core.settings import read_settings

    return {} if path is None else read_settings(path)


def extractor_settings(
    given: list[str] | None, weights: str | None, download: bool
) -> dict[str, Any]:
    """Settings of an extractor as YAML would read them: numbers, true and false, lists, text."""
    from withhold.core.settings import parse_yaml

    out: dict[str, Any] = {}
    for setting in given or []:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise UserError(f"--set '{setting}' is not NAME=VALUE")
        try:
            out[name.strip()] = parse_yaml(value, "the value")
        except UserError as error:
            raise UserError(f"--set '{setting}': the value cannot be read") from error
    if weights is not None:
        out["weights"] = weights
    if download:
        out["download"] = True
    return out


def check_target(path: Path, *inputs: Path) -> None:
    """Refuse an output that cannot be written, or that is an input, before any work is done."""
    from withhold.records.files import same_file

    for given in inputs:
        if same_file(path, given):
            raise UserError(f"{path} is the input; choose another -o")
    parent = path.absolute().parent
    if not parent.is_dir():
        raise UserError(
            f"folder {path.parent} does not exist, so {path.name} cannot be made there;"
            " make it, or choose another -o"
        )
    _check_writable(parent, path.parent)


def check_dataset_target(path: Path, *inputs: Path) -> None:
    """The same for a dataset file, whose name must also say its format."""
    from withhold.records.files import check_sink

    check_target(path, *inputs)
    check_sink(path)


def check_folder_target(path: Path) -> None:
    """Refuse an output folder that is not there and cannot be made, before any work is done."""
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file; -o names a folder")
    nearest = next(p for p in (path.absolute(), *path.absolute().parents) if p.exists())
    if not nearest.is_dir():
        raise UserError(f"folder {path} cannot be made: {nearest} is a file; choose another -o")
    _check_writable(nearest, nearest)


def write_into(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into a folder, all or none; the folder is made, and unmade where that fails."""
    from withhold.core.atomic import write_together, writing_to

    absent = [p for p in (folder, *folder.parents) if not p.exists()]
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        write_together({folder / name: data for name, data in contents.items()})
    except BaseException:
        for made in absent:
            made.rmdir()
        raise


def _check_writable(folder: Path, shown: Path) -> None:
    import os

    # A read-only file system refuses root too, which `access` knows.
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"folder {shown} cannot be written (no permission); choose another -o")


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(value, indent=2))
