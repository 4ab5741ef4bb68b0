"""`withhold compare`: which method fits these data, all judged alike. It resumes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from withhold.cli.help import DATA, METHOD, option
from withhold.cli.options import (
    Data,
    Delimiter,
    Exclude,
    Features,
    Group,
    Json,
    MultiLabel,
    Preserve,
    Quiet,
    Suppress,
    Test,
    choose_progress,
    print_json,
    reading,
)
from withhold.core.errors import UserError

if TYPE_CHECKING:
    from withhold.actions.compare_case import CompareKind


def compare(
    data: Data,
    output: Annotated[
        Path, option("Folder to write: compare.html, compare.json.", None, "--output", "-o")
    ],
    suppress: Suppress,
    preserve: Preserve = "",
    budget: Annotated[
        str | None,
        option('How much may leak, e.g. "speaker<=floor+1; age<=0.2 bits".', METHOD),
    ] = None,
    methods: Annotated[
        str, option("Methods to try, comma-separated; by default all that fit.", METHOD)
    ] = "",
    seeds: Annotated[int, option("Fits of every row, each with its own seed.", METHOD, min=1)] = 1,
    read: Annotated[
        str, option("Attributes that should stay readable; by default all that can be.", METHOD)
    ] = "",
    tune: Annotated[
        str | None, option("Search the settings of this method (extra tune).", METHOD)
    ] = None,
    trials: Annotated[int, option("Settings that --tune tries.", METHOD, min=1)] = 20,
    time_limit: Annotated[
        float | None, option("Minutes after which no further row is started.", METHOD)
    ] = None,
    kind: Annotated[
        str | None,
        option("features or table; by default features if there is a column x.", DATA),
    ] = None,
    features: Features = None,
    group: Group = None,
    exclude: Exclude = None,
    multilabel: MultiLabel = None,
    delimiter: Delimiter = None,
    test: Test = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare methods on your own data: what leaks, and what is left to use.

    Every method is fitted on the same records, and the same attackers and readers are retrained on
    every release. The best method within the budget is marked. Without a budget, the best method
    that is proved to stay within one point of the floor is marked. The same command resumes an
    interrupted comparison.
    """
    from pydantic import ValidationError

    from withhold.actions.compare import CompareRequest
    from withhold.actions.compare import compare as compared
    from withhold.report.compare_table import comparison_text

    try:
        request = CompareRequest(
            data=data,
            output=output,
            suppress=suppress,
            preserve=preserve,
            budget=budget,
            methods=_names(methods),
            seeds=seeds,
            read=_names(read),
            tune=tune,
            trials=trials,
            time_limit=time_limit,
            kind=_kind(kind),
            reading=reading(features, group, exclude, multilabel, test, delimiter=delimiter),
        )
    except ValidationError as error:
        first = error.errors()[0]
        flag = str(first["loc"][0]).replace("_", "-")
        raise UserError(f"--{flag} {first['input']}: {first['msg'].lower()}") from error
    found = compared(request, choose_progress(quiet))
    if as_json:
        print_json(found.to_dict())
    elif not quiet:
        typer.echo(comparison_text(found))
        typer.echo(f"{output / 'compare.html'}: the same as a page")


def _kind(kind: str | None) -> CompareKind | None:
    if kind is None or kind == "features" or kind == "table":
        return kind  # type: ignore[return-value]
    raise UserError(f"--kind '{kind}' is not a kind of data to compare; use features or table")


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
