"""`withhold bench`: run a recipe and print its table beside the paper's figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from withhold.cli.help import option
from withhold.cli.options import Json, Quiet, choose_progress, print_json


def bench(
    recipe: Annotated[
        str,
        typer.Argument(
            help="The name of a recipe, or a YAML file; `list` shows all names.", metavar="RECIPE"
        ),
    ],
    output: Annotated[
        Path | None, option("Folder for the results (default: out/RECIPE).", None, "--output", "-o")
    ] = None,
    seeds: Annotated[
        str | None, option("Seeds of a recipe of `kind: pixels` or `clips`, such as 0,1,2.", None)
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a benchmark recipe, and print its table."""
    from withhold.bench import find_recipe, recipe_names, run_recipe

    if recipe == "list":
        for name, title in recipe_names():
            typer.echo(f"{name:<24} {title}")
        return
    found = find_recipe(recipe)
    if seeds is not None:
        found = found.with_seeds(seeds)
    result = run_recipe(found, output or Path("out") / found.name, progress=choose_progress(quiet))
    if as_json:
        print_json(result.to_dict())
    else:
        result.print()
