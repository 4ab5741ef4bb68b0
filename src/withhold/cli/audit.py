"""`withhold audit`: what can still be inferred from a release, anyone's release."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from withhold.cli.media import features_for_audit
from withhold.cli.options import (
    AllowOutside,
    Column,
    Exclude,
    Features,
    Group,
    Json,
    MultiLabel,
    Names,
    Pattern,
    Preserve,
    Quiet,
    Rate,
    Set,
    Test,
    Weights,
    check_folder_target,
    choose_progress,
    extractor_settings,
    print_json,
    read_dataset,
    read_yaml,
    write_into,
)
from withhold.core.terminal import wrapped

if TYPE_CHECKING:
    from withhold.audit.evidence import Evidence
    from withhold.certificate import Certificate
    from withhold.certificate.release_file import ReleaseCertificate
    from withhold.records.dataset import Dataset

GATE_FAILED = 3


def audit(
    original: Annotated[Path, typer.Argument(help="The original.", metavar="ORIGINAL")],
    release: Annotated[
        Path | None,
        typer.Argument(
            help="The release, whoever made it; without one, the original alone is audited.",
            metavar="[RELEASE]",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for audit.json and report.html."),
    ] = None,
    suppress: Annotated[
        str, typer.Option(help="Attributes that nobody should be able to read, comma-separated.")
    ] = "",
    preserve: Preserve = "",
    joint: Annotated[
        list[str] | None,
        typer.Option(help="Attributes to read together, as A,B; repeatable."),
    ] = None,
    fail_if: Annotated[
        str | None,
        typer.Option(
            help='Exit with 3 where one holds: "speaker>floor+2; digit<95" (points; the tier that'
            " reads most, or NAME@TIER, or NAME@certificate)."
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            help="The bound on every attacker: NAME.certificate.json beside a release, a file of"
            " withhold certify, or a bundle."
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(help="The owner's key: checks the signature of the certificate."),
    ] = None,
    again: Annotated[
        list[Path] | None,
        typer.Option(help="Another draw of the same release; repeatable."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer attackers on fewer records: weaker.")
    ] = False,
    id_column: Annotated[
        str | None, typer.Option("--id", help="The column that tells records.")
    ] = None,
    same_order: Annotated[
        bool,
        typer.Option("--same-order", help="Vouch that the records of both files are in one order."),
    ] = False,
    rows: Annotated[
        Path | None,
        typer.Option(
            help="Which row became which, as withhold transform lists it; RELEASE.rows.csv beside"
            " the release is found without asking."
        ),
    ] = None,
    average: Annotated[
        str | None,
        typer.Option(help="Average predictions over the records of one source: the column of it."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="YAML with suppress, preserve, joint, fail_if, quick, seed, id, group,"
            " average, certificate."
        ),
    ] = None,
    features: Features = "x",
    release_features: Annotated[
        str | None, typer.Option(help="The features of the release, if named otherwise.")
    ] = None,
    group: Group = None,
    exclude: Exclude = None,
    multilabel: MultiLabel = None,
    test: Test = None,
    extractor: Annotated[
        str | None,
        typer.Option(help="Media: how their features are made (withhold extract --list)."),
    ] = None,
    weights: Weights = None,
    extractor_set: Set = None,
    pattern: Pattern = None,
    column: Column = None,
    rate: Rate = None,
    names: Names = None,
    allow_outside: AllowOutside = False,
    seed: Annotated[int | None, typer.Option(help="Decides every draw (0).", min=0)] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Attack a release with models of the original and with retrained ones; write the evidence.

    Both may be folders of media, with --extractor: anyone's, matched by the names of files. Exit
    code 3 where --fail-if holds.
    """
    from withhold.actions.audit import audit as evaluate
    from withhold.audit.audit_settings import AuditSettings
    from withhold.audit.pairing import matching
    from withhold.core.errors import UserError
    from withhold.core.key_file import as_key
    from withhold.records.dataset import Dataset
    from withhold.release.dataset import with_rows

    if output is None:
        raise UserError("no folder for the evidence; name one with -o")
    check_folder_target(output)
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
        certificate=None if certificate is None else str(certificate),
    )
    # Read first: a mistake costs no reading of the data.
    proved, owner = None, None if key is None else as_key(key)
    if settings.certificate is not None:
        proved, found = _certificate(Path(settings.certificate))
        owner = owner or found
    elif key is not None:
        raise UserError("--key checks the signature of a certificate; name one with --certificate")
    progress = choose_progress(quiet)
    given = (original, release)
    original, release = features_for_audit(
        original,
        release,
        output,
        extractor=extractor,
        settings=extractor_settings(extractor_set, weights, False),
        where={
            "pattern": pattern,
            "column": column,
            "rate": rate,
            "allow_outside": allow_outside,
        },
        names=names,
        progress=progress,
    )
    before = read_dataset(
        original,
        features=features,
        group=settings.group,
        exclude=exclude,
        multilabel=multilabel,
        test=test,
        progress=progress,
    )

    def read(path: Path, rows: Path | None = None, media: Path | None = None) -> Dataset:
        found = Dataset.read(path, features=release_features or features, progress=progress)
        found = _same_columns(before, found)
        if release != given[1]:  # features that this audit made, with a note of how
            found = replace(found, schema=found.schema.remove_metadata())
        return found if same_order or settings.id else with_rows(found, path, rows, media=media)

    after = None if release is None else read(release, rows, given[1])
    if after is not None and release != given[1] and not same_order and settings.id is None:
        settings = settings.over(id=shared_names(before, after))
    if after is not None and settings.id is not None:
        kept = matching(before, after, settings.id)
        if len(kept) < len(before):
            progress.say(
                f"warning: {len(before) - len(kept):,} of {len(before):,} records of"
                f" {before.name} are not in {after.name}; the others are audited"
            )
        before = kept
    evidence = evaluate(
        before,
        after,
        settings.suppress,
        settings.preserve,
        joint=settings.joint,
        fail_if=settings.fail_if or None,
        certificate=proved,
        key=owner,
        again=[read(path) for path in again or []],
        quick=settings.quick,
        id=settings.id,
        same_order=same_order,
        average=settings.average,
        seed=settings.seed,
        progress=progress,
    )
    _write(evidence, output, title=f"Audit of {(given[1] or given[0]).name}")
    _tell(evidence, output, quiet=quiet, as_json=as_json)
    return GATE_FAILED if evidence.gate is not None and not evidence.gate.passed else 0


def _certificate(path: Path) -> tuple[Certificate | ReleaseCertificate, bytes | None]:
    """What `--certificate` names: a file, the folder of a bundle, or that of a release.

    A bundle has the key that its certificate was signed with.
    """
    from withhold.bundle.bundle import load_bundle
    from withhold.certificate import read_certificate
    from withhold.certificate.release_file import ReleaseCertificate

    if path.is_dir():
        return read_certificate(path), getattr(load_bundle(path).modifier, "key", None)
    if path.name.endswith(".certificate.json"):
        return ReleaseCertificate.from_json(path), None
    return read_certificate(path), None


def shared_names(before: Dataset, after: Dataset) -> str | None:
    """The column of file names, where media of both sides have one."""
    from withhold.media.collect.collection import FILE

    both = FILE in before.table.column_names and FILE in after.table.column_names
    return FILE if both else None


def _same_columns(before: Dataset, after: Dataset) -> Dataset:
    """Wide columns are matched by name, whatever their order in the file."""
    columns, released = before.layout.columns, after.layout.columns
    if columns != released and set(columns) == set(released):
        x = after.x[:, [released.index(c) for c in columns]]
        return replace(after.with_features(x), path=after.path)  # it is still this file
    return after


def _write(evidence: Evidence, output: Path, *, title: str) -> None:
    from withhold.report import render

    page = render(evidence, title=title)
    write_into(output, {"audit.json": evidence.json_bytes(), "report.html": page.encode()})


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
