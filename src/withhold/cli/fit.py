"""`withhold fit`: learn a modifier; resumes where it was interrupted."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
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
from withhold.core.errors import UserError
from withhold.core.terminal import wrapped

if TYPE_CHECKING:
    from withhold.records.dataset import Dataset
    from withhold.records.roles import Roles


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
    key: Annotated[
        Path | None,
        typer.Option(
            help="File with the secret key (32 bytes, or 64 hexadecimal digits), for bundles that"
            " can be made again; random otherwise."
        ),
    ] = None,
    new_key: Annotated[
        Path | None, typer.Option(help="Make a new key, write it to this file, and use it.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a bundle that is there already.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn a modifier that hides the suppressed attributes, and save it as a bundle.

    The anonymisers of media (blur, downsample, blacken, pixelate, white-noise, mask, mcadams) take
    a folder or table of media with --pattern, --column and --rate, and learn nothing.

    The bundle holds a secret key (file key) and, where there is a certificate, a file that tells
    who was in the fit (fit-membership.safetensors). Keep both in the house.
    """
    from withhold.actions.fit import fit_bundle
    from withhold.bundle.bundle import save_bundle
    from withhold.bundle.files import bundle_digest, check_place, tidy_place
    from withhold.core.key_file import as_key
    from withhold.methods import Journal, read_config
    from withhold.records.roles import Roles

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
    if key is not None and new_key is not None:
        raise UserError("--key uses a key and --new-key makes one; give one of the two")
    secret = as_key(key)
    if is_classical(method):
        made = make_media_bundle(
            data,
            roles,
            method,
            settings,
            seed,
            key=_made_key(new_key) or secret,
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
    if not _is_there(target, dataset, roles, wanted, secret, overwrite):
        if work.exists():
            progress.say(f"resuming from {work}")
        journal = Journal(work)
        try:
            bundle = fit_bundle(
                dataset,
                roles,
                method=method,
                config=chosen,
                seed=seed,
                key=_made_key(new_key) or secret,
                progress=progress,
                journal=journal,
            )
            save_bundle(bundle, target)
        except BaseException:
            with contextlib.suppress(OSError):
                journal.remove_if_empty()
            raise
    shutil.rmtree(work, ignore_errors=True)
    if as_json:
        print_json({"bundle": str(output), "sha256": bundle_digest(output)} | wanted)
    elif not quiet:
        typer.echo(
            f"{output}: {method} fitted; next: withhold transform {output} {data} -o RELEASE"
        )
        typer.echo(wrapped(_stays_here(target), sys.stdout))


def _made_key(path: Path | None) -> bytes | None:
    from withhold.core.key_file import make_key_file

    return None if path is None else make_key_file(path)


def _stays_here(bundle: Path) -> str:
    """What of a bundle is not for others."""
    from withhold.bundle.files import MEMBERSHIP

    told = "keep private: key (whoever has it can repeat the draws and sign)"
    if (bundle / MEMBERSHIP).exists():
        told += f" and {MEMBERSHIP} (it tells who was in the fit)"
    return told


def _is_there(
    target: Path,
    dataset: Dataset,
    roles: Roles,
    wanted: dict[str, Any],
    key: bytes | None,
    overwrite: bool,
) -> bool:
    """Whether this very fit is done already; refuses to replace anything else unasked."""
    from withhold.bundle.bundle import load_bundle
    from withhold.bundle.described_input import describe_input
    from withhold.bundle.files import is_bundle

    if not is_bundle(target) or overwrite:
        return False
    try:
        old = load_bundle(target, key=key)
        described = describe_input(dataset, roles, old.modifier.key)
        same = (
            {"method": old.method, "config": old.config, "seed": old.seed} == wanted
            and old.roles == roles
            and old.input | {"name": ""} == described | {"name": ""}
        )
    except UserError:
        same = False
    if not same:
        raise UserError(
            f"{target} holds a bundle of another fit; choose another -o, or add --overwrite"
        )
    return True
