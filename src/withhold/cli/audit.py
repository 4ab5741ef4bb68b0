"""`withhold audit`: what can still be inferred from a release, anyone's release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from withhold.cli.options import (
    Exclude,
    Features,
    Group,
    Json,
    MultiLabel,
    Preserve,
    Quiet,
    Seed,
    Suppress,
    Test,
    check_folder_target,
    choose_progress,
    print_json,
    read_dataset,
    write_into,
)


def audit(
    original: Annotated[Path, typer.Argument(help="The original.", metavar="ORIGINAL")],
    release: Annotated[Path, typer.Argument(help="The release.", metavar="RELEASE")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for audit.json and report.html.")
    ],
    suppress: Suppress,
    preserve: Preserve = "",
    features: Features = "x",
    group: Group = None,
    exclude: Exclude = None,
    multilabel: MultiLabel = None,
    test: Test = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Attack a release with models of the original and with retrained ones; write the evidence."""
    from withhold.audit import evaluate
    from withhold.dataset import Dataset
    from withhold.report import print_table, render

    check_folder_target(output)
    progress = choose_progress(quiet)
    before = read_dataset(
        original,
        features=features,
        group=group,
        exclude=exclude,
        multilabel=multilabel,
        test=test,
        progress=progress,
    )
    after = Dataset.read(release, features=features, progress=progress)
    columns, released = before.layout.columns, after.layout.columns
    if columns != released and set(columns) == set(released):
        # Wide columns are matched by name, whatever their order in the file.
        after = after.with_features(after.x[:, [released.index(c) for c in columns]])
    evidence = evaluate(before, after, suppress, preserve, seed=seed, progress=progress)
    page = render(evidence, title=f"Audit of {release.name}")
    write_into(
        output,
        {
            "audit.json": json.dumps(evidence.to_dict(), indent=2).encode() + b"\n",
            "report.html": page.encode(),
        },
    )
    if as_json:
        print_json(evidence.to_dict())
    elif not quiet:
        print_table(evidence)
        typer.echo(f"evidence: {output / 'audit.json'}, report: {output / 'report.html'}")
