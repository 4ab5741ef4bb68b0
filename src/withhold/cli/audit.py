"""`withhold audit`: what can still be inferred from a release, made by any tool."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from withhold.cli.help import AUDIT, DATA, MEDIA, PROOF, ROLES, option
from withhold.cli.options import (
    AllowOutside,
    Column,
    Engine,
    Exclude,
    Features,
    Group,
    Json,
    Log,
    MultiLabel,
    Names,
    Pattern,
    Preserve,
    Quiet,
    Rate,
    Set,
    Test,
    Weights,
    Workers,
    choose_progress,
    extractor_settings,
    print_json,
    read_yaml,
    reading,
)
from withhold.core.errors import UserError
from withhold.core.terminal import wrapped

if TYPE_CHECKING:
    from withhold.audit.evidence import Evidence

GATE_FAILED = 3


def audit(
    original: Annotated[Path, typer.Argument(help="The original data.", metavar="ORIGINAL")],
    release: Annotated[
        Path | None,
        typer.Argument(
            help="The release, made by any tool. Without it, the original is audited.",
            metavar="RELEASE",
        ),
    ] = None,
    output: Annotated[
        Path | None, option("Folder for audit.json and report.html.", None, "--output", "-o")
    ] = None,
    suppress: Annotated[
        str, option("Attributes that nobody should be able to infer, comma-separated.", ROLES)
    ] = "",
    preserve: Preserve = "",
    joint: Annotated[
        list[str] | None, option("Attributes to infer together, as A,B. Repeatable.", AUDIT)
    ] = None,
    fail_if: Annotated[
        str | None,
        option(
            "Exit with code 3 if one of these conditions holds, e.g."
            ' "speaker>floor+2; digit<95" (in percentage points). The strongest tier counts, unless'
            " you write NAME@TIER or NAME@certificate.",
            PROOF,
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        option(
            "The certificate of the release: NAME.certificate.json beside it, the output of"
            " withhold certify, or a bundle.",
            PROOF,
        ),
    ] = None,
    key: Annotated[
        Path | None, option("The owner's key, to check the signature of the certificate.", PROOF)
    ] = None,
    again: Annotated[
        list[Path] | None, option("Another draw of the same release. Repeatable.", AUDIT)
    ] = None,
    quick: Annotated[
        bool, option("A weaker audit: fewer attackers on fewer records.", AUDIT, "--quick")
    ] = False,
    id_column: Annotated[
        str | None, option("The column that identifies a record in both files.", AUDIT, "--id")
    ] = None,
    same_order: Annotated[
        bool,
        option(
            "You confirm that both files have their records in the same order.",
            AUDIT,
            "--same-order",
        ),
    ] = False,
    rows: Annotated[
        Path | None,
        option(
            "The list of which row became which, from withhold transform. By default"
            " RELEASE.rows.csv beside the release.",
            AUDIT,
        ),
    ] = None,
    average: Annotated[
        str | None,
        option(
            "Average the predictions over all records with the same value in this column.", AUDIT
        ),
    ] = None,
    config: Annotated[
        Path | None,
        option(
            "YAML file with any of suppress, preserve, joint, fail_if, quick, seed, id, group,"
            " average, certificate, pixels.",
            AUDIT,
        ),
    ] = None,
    features: Features = None,
    release_features: Annotated[
        str | None, option("Feature columns of the release, if they differ from --features.", DATA)
    ] = None,
    group: Group = None,
    exclude: Exclude = None,
    multilabel: MultiLabel = None,
    test: Test = None,
    extractor: Annotated[
        str | None,
        option(
            "How to make features from media; withhold extract --list shows the choices.", MEDIA
        ),
    ] = None,
    weights: Weights = None,
    extractor_set: Set = None,
    pattern: Pattern = None,
    column: Column = None,
    rate: Rate = None,
    pixels: Annotated[
        int | None,
        typer.Option(
            help="Side of the images and frames that convolutional attackers read, a multiple of 8"
            " (default: 32); 0 attacks features only.",
            min=0,
            max=256,
            rich_help_panel=MEDIA,
        ),
    ] = None,
    names: Names = None,
    allow_outside: AllowOutside = False,
    seed: Annotated[
        int | None, option("Seed of all random choices (default: 0).", AUDIT, min=0)
    ] = None,
    log: Log = None,
    engine: Engine = "local",
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Attack a release, and report what can still be inferred.

    Attackers are trained on the original and on the release itself. The evidence goes to audit.json
    and report.html. The exit code is 3 if a condition of --fail-if holds.

    ORIGINAL and RELEASE can also be folders of media, with --extractor. Files are then matched by
    name. Images are attacked as pixels too.
    """
    from withhold.actions.audit_files import audit_files
    from withhold.actions.audit_request import AuditRequest, MediaFeatures
    from withhold.actions.engine_options import EngineOptions
    from withhold.actions.request import Opening
    from withhold.audit.audit_settings import AuditSettings

    if output is None:
        raise UserError("no folder for audit.json and report.html; name one with -o")
    settings = AuditSettings.read(read_yaml(config)).over(
        suppress=suppress,
        preserve=preserve,
        joint=joint,
        fail_if=fail_if,
        quick=quick,
        id=id_column,
        average=average,
        group=group,
        seed=seed,
        pixels=pixels,
        certificate=None if certificate is None else str(certificate),
    )
    request = AuditRequest(
        original=original,
        release=release,
        output=output,
        settings=settings,
        reading=reading(features, settings.group, exclude, multilabel, test),
        release_features=release_features,
        media=MediaFeatures(
            extractor=extractor,
            settings=extractor_settings(extractor_set, weights, False),
            opening=Opening(pattern=pattern, column=column, rate=rate, allow_outside=allow_outside),
            names=names,
        ),
        same_order=same_order,
        rows=rows,
        again=tuple(again or ()),
        key=key,
        log=tuple(log or ()),
        of_engine=EngineOptions(engine=engine, workers=workers),
    )
    evidence = audit_files(request, choose_progress(quiet))
    _tell(evidence, output, quiet=quiet, as_json=as_json)
    return GATE_FAILED if evidence.gate is not None and not evidence.gate.passed else 0


def _tell(evidence: Evidence, output: Path, *, quiet: bool, as_json: bool) -> None:
    from withhold.report import print_table

    if as_json:
        print_json(evidence.to_dict())
    elif not quiet:
        print_table(evidence)
        typer.echo(f"evidence: {output / 'audit.json'}, report: {output / 'report.html'}")
    if evidence.gate is not None:
        for failure in evidence.gate.failures:
            print(wrapped(f"gate failed: {failure}", sys.stderr), file=sys.stderr)
