"""`withhold audit`: what can still be inferred from a release, anyone's release."""

from __future__ import annotations

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
    choose_progress,
    print_json,
    read_dataset,
)
from withhold.errors import UserError


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
    from withhold.report import print_table, write_report

    if output.exists() and not output.is_dir():
        raise UserError(f"{output} is a file; -o names a folder")
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
    evidence = evaluate(before, after, suppress, preserve, seed=seed, progress=progress)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"folder {output} cannot be made: {error.strerror}") from error
    evidence.to_json(output / "audit.json")
    write_report(evidence, output / "report.html", title=f"Audit of {release.name}")
    if as_json:
        print_json(evidence.to_dict())
    elif not quiet:
        print_table(evidence)
        typer.echo(f"evidence: {output / 'audit.json'}, report: {output / 'report.html'}")
