"""`withhold fit`: learn a modifier; resumes where it was interrupted."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from withhold.cli.media import check_method, is_classical, make_media_bundle, tell_media_bundle
from withhold.cli.options import (
    AllowOutside,
    Column,
    DataOrMedia,
    Exclude,
    Features,
    Group,
    Json,
    MultiLabel,
    Pattern,
    Preserve,
    Quiet,
    Rate,
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
    data: DataOrMedia,
    output: Annotated[Path, typer.Option("--output", "-o", help="Bundle (a folder) to write.")],
    suppress: Suppress,
    preserve: Preserve = "",
    method: Annotated[str, typer.Option(help="How to learn the modifier.")] = "codebook",
    config: Annotated[Path | None, typer.Option(help="YAML file of the method's settings.")] = None,
    preset: Annotated[str | None, typer.Option(help="A paper's settings, by name.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(help='What may leak (method codebook): "speaker<=floor+1; age<=0.2 bits".'),
    ] = None,
    raw: Annotated[
        Path | None,
        typer.Option(help="The media the features came from, for views in the raw domain."),
    ] = None,
    features: Features = "x",
    group: Group = None,
    exclude: Exclude = None,
    multilabel: MultiLabel = None,
    test: Test = None,
    pattern: Pattern = None,
    column: Column = None,
    rate: Rate = None,
    allow_outside: AllowOutside = False,
    seed: Seed = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a bundle that is there already.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn a modifier that hides the suppressed attributes, and save it as a bundle.

    The anonymisers of media (blur, downsample, blacken, pixelate, white-noise, mask, mcadams) take
    a folder or table of media with --pattern, --column and --rate, and learn nothing.
    """
    from withhold.bundle import save_bundle
    from withhold.bundle_files import bundle_digest, check_place, tidy_place
    from withhold.fitting import fit_bundle
    from withhold.methods import Journal, read_config
    from withhold.roles import Roles

    check_target(output, data)
    # Where -o is a link, the folder it leads to is replaced; and `.` has a name only in full.
    target = Path(os.path.realpath(output))
    check_place(target)
    tidy_place(target)
    progress = choose_progress(quiet)
    roles = Roles.of(suppress, preserve)
    settings = read_yaml(config)
    settings |= {"preset": preset} if preset else {}
    settings |= {} if budget is None else {"budget": budget}
    where = {"pattern": pattern, "column": column, "rate": rate}
    check_method(method)
    if is_classical(method):
        made = make_media_bundle(
            data,
            roles,
            method,
            settings,
            seed,
            target=target,
            overwrite=overwrite,
            where=where,
            allow_outside=allow_outside,
        )
        tell_media_bundle(made, output, data, quiet=quiet, as_json=as_json)
        return
    if data.is_dir():
        raise UserError(
            f"{data} is a folder of media, and method '{method}' takes features; make them with:"
            f" withhold extract {data} -o DATA.parquet"
        )
    chosen = read_config(method, settings)
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
        from withhold.media.extract import with_raw_media

        dataset = with_raw_media(dataset, raw, **where, allow_outside=allow_outside)
    wanted = {"method": method, "config": chosen.model_dump(mode="json"), "seed": seed}
    work = target.with_name(f"{target.name}.partial")
    if not _is_there(target, dataset, roles, wanted, overwrite):
        if work.exists():
            progress.say(f"resuming from {work}")
        try:
            bundle = fit_bundle(
                dataset,
                roles,
                method=method,
                config=chosen,
                seed=seed,
                progress=progress,
                journal=Journal(work),
            )
            save_bundle(bundle, target)
        except BaseException:
            with contextlib.suppress(OSError):
                work.rmdir()  # goes only where it is empty: nothing was learned, nothing is left
            raise
    shutil.rmtree(work, ignore_errors=True)
    if as_json:
        print_json({"bundle": str(output), "sha256": bundle_digest(output)} | wanted)
    elif not quiet:
        typer.echo(
            f"{output}: {method} fitted; next: withhold transform {output} {data} -o RELEASE"
        )


def _is_there(
    target: Path, dataset: Dataset, roles: Roles, wanted: dict[str, Any], overwrite: bool
) -> bool:
    """Whether this very fit is done already; refuses to replace anything else unasked."""
    from withhold.bundle import describe_input, load_bundle
    from withhold.bundle_files import is_bundle

    if not is_bundle(target) or overwrite:
        return False
    try:
        old = load_bundle(target)
        same = (
            {"method": old.method, "config": old.config, "seed": old.seed} == wanted
            and old.roles == roles
            and old.input | {"name": ""} == describe_input(dataset, roles) | {"name": ""}
        )
    except UserError:
        same = False
    if not same:
        raise UserError(
            f"{target} holds a bundle of another fit; choose another -o, or add --overwrite"
        )
    return True
