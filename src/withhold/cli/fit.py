"""`withhold fit`: learn a modifier; resumes where it was interrupted."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from withhold.cli.options import (
    Data,
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
    check_target,
    choose_progress,
    print_json,
    read_dataset,
    read_yaml,
)
from withhold.errors import UserError

if TYPE_CHECKING:
    from withhold.dataset import Dataset
    from withhold.roles import Roles


def fit(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Bundle (a folder) to write.")],
    suppress: Suppress,
    preserve: Preserve = "",
    method: Annotated[str, typer.Option(help="How to learn the modifier.")] = "mass",
    config: Annotated[Path | None, typer.Option(help="YAML file of the method's settings.")] = None,
    preset: Annotated[str | None, typer.Option(help="A paper's settings, by name.")] = None,
    raw: Annotated[
        Path | None,
        typer.Option(help="The media the features came from, for views in the raw domain."),
    ] = None,
    features: Features = "x",
    group: Group = None,
    exclude: Exclude = None,
    multilabel: MultiLabel = None,
    test: Test = None,
    seed: Seed = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a bundle that is there already.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn a modifier that hides the suppressed attributes, and save it as a bundle."""
    from withhold.bundle import bundle_digest, save_bundle
    from withhold.fitting import fit_bundle
    from withhold.methods import Journal, read_config
    from withhold.roles import Roles

    check_target(output, data)
    progress = choose_progress(quiet)
    roles = Roles.of(suppress, preserve)
    settings = read_yaml(config)
    chosen = read_config(method, settings | ({"preset": preset} if preset else {}))
    dataset = read_dataset(
        data,
        features=features,
        group=group,
        exclude=exclude,
        multilabel=multilabel,
        test=test,
        progress=progress,
    )
    roles.check(dataset)
    if raw is not None:
        from withhold.media.extract import with_raw_sounds

        dataset = with_raw_sounds(dataset, raw)
    wanted = {"method": method, "config": chosen.model_dump(mode="json"), "seed": seed}
    if not _is_there(output, dataset, roles, wanted, overwrite):
        work = output.with_name(f"{output.name}.partial")
        if work.exists() and not quiet:
            progress.say(f"resuming from {work}")
        bundle = fit_bundle(
            dataset,
            roles,
            method=method,
            config=chosen,
            seed=seed,
            progress=progress,
            journal=Journal(work),
        )
        save_bundle(bundle, output)
        shutil.rmtree(work, ignore_errors=True)
    if as_json:
        print_json({"bundle": str(output), "sha256": bundle_digest(output)} | wanted)
    elif not quiet:
        typer.echo(
            f"{output}: {method} fitted; next: withhold transform {output} {data} -o RELEASE"
        )


def _is_there(
    output: Path, dataset: Dataset, roles: Roles, wanted: dict[str, Any], overwrite: bool
) -> bool:
    """Whether this very fit is done already; refuses to replace anything else unasked."""
    if not output.exists() or overwrite:
        return False
    from withhold.bundle import load_bundle

    try:
        old = load_bundle(output)
        same = (
            {"method": old.method, "config": old.config, "seed": old.seed} == wanted
            and old.roles == roles
            and old.input["sha256"] == dataset.digest()
        )
    except UserError:
        same = False
    if not same:
        raise UserError(f"{output} exists already; choose another -o, or add --overwrite")
    return True
