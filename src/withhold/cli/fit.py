"""`withhold fit`: learn a modifier. An interrupted fit resumes."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from withhold.cli.help import METHOD, option
from withhold.cli.options import (
    AllowOutside,
    Column,
    DataOrMedia,
    Delimiter,
    Engine,
    Exclude,
    Features,
    Group,
    Json,
    Log,
    MultiLabel,
    Pattern,
    Preserve,
    Quiet,
    Rate,
    Seed,
    Suppress,
    Test,
    Workers,
    choose_progress,
    print_json,
    read_yaml,
    reading,
    settings_by_name,
)
from withhold.core.terminal import wrapped


def fit(
    data: DataOrMedia,
    output: Annotated[Path, option("Bundle to write (a folder).", None, "--output", "-o")],
    suppress: Suppress,
    preserve: Preserve = "",
    method: Annotated[str, option("The method that learns the modifier.", METHOD)] = "codebook",
    config: Annotated[Path | None, option("YAML file with settings of the method.", METHOD)] = None,
    preset: Annotated[str | None, option("Settings of a paper, by name.", METHOD)] = None,
    settings: Annotated[
        list[str] | None,
        option(
            "A setting of the method, as NAME=VALUE. Repeatable; it overrides --config.",
            METHOD,
            "--set",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        option(
            'How much may leak (method codebook), e.g. "speaker<=floor+1; age<=0.2 bits".', METHOD
        ),
    ] = None,
    raw: Annotated[
        Path | None,
        option(
            "The media that the features came from, for augmentations of the raw media.", METHOD
        ),
    ] = None,
    features: Features = None,
    group: Group = None,
    exclude: Exclude = None,
    multilabel: MultiLabel = None,
    delimiter: Delimiter = None,
    test: Test = None,
    pattern: Pattern = None,
    column: Column = None,
    rate: Rate = None,
    allow_outside: AllowOutside = False,
    engine: Engine = "local",
    workers: Workers = None,
    seed: Seed = 0,
    key: Annotated[
        Path | None,
        option(
            "File with the secret key (32 bytes, or 64 hexadecimal digits). By default a new"
            " random key. The same key, data, settings and seed give the same bundle."
        ),
    ] = None,
    new_key: Annotated[
        Path | None, option("Make a new key, write it to this file, and use it.")
    ] = None,
    overwrite: Annotated[bool, option("Replace an existing bundle.", None, "--overwrite")] = False,
    log: Log = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn to hide attributes, and save the result as a bundle.

    Use the bundle with withhold transform. If a fit is interrupted, the same command resumes it.

    The methods for media take a folder or table of media with --pattern, --column and --rate. gap
    and replace learn to change images; blur, downsample, blacken, pixelate, white-noise, mask and
    mcadams learn nothing.

    The bundle contains a secret key, in the file key. If it has a certificate, it also contains
    fit-membership.safetensors, which reveals who was in the fit. Keep both files private.
    """
    from withhold.actions.engine_options import EngineOptions
    from withhold.actions.fit import FitRequest, fit_to
    from withhold.actions.request import Opening

    chosen = read_yaml(config) | settings_by_name(settings)
    chosen |= {"preset": preset} if preset else {}
    chosen |= {} if budget is None else {"budget": budget}
    request = FitRequest(
        data=data,
        output=output,
        suppress=suppress,
        preserve=preserve,
        method=method,
        config=chosen,
        seed=seed,
        reading=reading(features, group, exclude, multilabel, test, delimiter=delimiter),
        opening=Opening(pattern=pattern, column=column, rate=rate, allow_outside=allow_outside),
        raw=raw,
        key=key,
        new_key=new_key,
        of_engine=EngineOptions(engine=engine, workers=workers),
        overwrite=overwrite,
        log=tuple(log or ()),
    )
    done = fit_to(request, choose_progress(quiet))
    bundle = done.bundle
    if as_json:
        print_json(
            {
                "bundle": str(output),
                "sha256": done.sha256,
                "method": bundle.method,
                "kind": bundle.kind,
                "config": bundle.config,
                "seed": bundle.seed,
            }
        )
    elif not quiet:
        what = "fitted"
        if bundle.kind != "features":
            what = f"for {bundle.input['records']:,} {bundle.kind}s"
        typer.echo(
            f"{output}: {method} {what}; next: withhold transform {quote(str(output))}"
            f" {quote(str(data))} -o RELEASE"
        )
        typer.echo(wrapped(_stays_here(output), sys.stdout))


def _stays_here(bundle: Path) -> str:
    """Which files of a bundle must stay private."""
    from withhold.bundle.bundle_files import MEMBERSHIP

    told = "keep private: key (anyone who has it can repeat the draws and sign)"
    if (bundle / MEMBERSHIP).exists():
        told += f", {MEMBERSHIP} (it reveals who was in the fit)"
    pictures = bundle.with_name(f"{bundle.name}.pictures")
    if pictures.is_dir():
        told += f", {pictures} (they show originals)"
    return told
