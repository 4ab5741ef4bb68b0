"""`withhold release`: a file in, a folder to hand over out, with its proof."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from withhold.cli.help import DATA, METHOD, PROOF, RELEASE, option
from withhold.cli.options import (
    Data,
    Delimiter,
    Engine,
    Group,
    Json,
    Key,
    Preserve,
    Quiet,
    Seed,
    Suppress,
    Text,
    Workers,
    choose_progress,
    print_json,
    settings_by_name,
    text_model,
)
from withhold.cli.released import near, tell_columns
from withhold.core.terminal import wrapped

if TYPE_CHECKING:
    from withhold.actions.release_given import Given
    from withhold.certificate.claims import ReleaseClaim

GATE_FAILED = 3


def release(
    data: Data,
    output: Annotated[Path, option("Folder to hand over.", None, "--output", "-o")],
    suppress: Suppress,
    preserve: Preserve = "",
    bundle: Annotated[
        Path | None,
        option(
            "Where the bundle with the key goes (default: OUTPUT.bundle). Keep it private.", None
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        option(
            "Columns to release as they are, comma-separated. Repeatable. The certificate does not"
            " cover them.",
            RELEASE,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None, option("Columns to leave out, comma-separated. Repeatable.", RELEASE)
    ] = None,
    same_order: Annotated[
        bool,
        option("Keep the order of the rows, which may reveal people.", RELEASE, "--same-order"),
    ] = False,
    hold_back: Annotated[
        str,
        option(
            "Share of the rows that stay, drawn at random, e.g. 10%. It weakens attackers who know"
            " the labels of other rows.",
            RELEASE,
            "--hold-back",
        ),
    ] = "0",
    features: Annotated[
        str | None,
        option(
            "Release these numeric columns, or this list column, as one feature vector. By default"
            " a file with a list column x holds features, and any other is a mixed table.",
            DATA,
        ),
    ] = None,
    group: Group = None,
    delimiter: Delimiter = None,
    text: Text = None,
    settings: Annotated[
        list[str] | None,
        option("A setting of method exact, as NAME=VALUE. Repeatable.", METHOD, "--set"),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        option(
            'Exit with code 3 where this holds, e.g. "sex>floor+2". Repeatable.', PROOF, "--fail-if"
        ),
    ] = None,
    quick: Annotated[bool, option("Run a weaker audit in less time.", None, "--quick")] = False,
    overwrite: Annotated[
        bool, option("Replace an earlier release and its bundle.", None, "--overwrite")
    ] = False,
    engine: Engine = "local",
    workers: Workers = None,
    seed: Seed = 0,
    key: Key = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Release a table or features with a proof for these records.

    Every class of the suppressed attribute uses every code in exactly the same share among the
    records that leave, so a row says no more about it than a guess. The folder holds the release in
    the format that came in, certificate.json, audit.json, report.html and a data card (README.md).
    The bundle, which holds the key, and the list of rows are written elsewhere: keep them private.
    """
    from withhold.actions.engine_options import EngineOptions
    from withhold.actions.given_request import GivenRequest
    from withhold.actions.release_given import release_given
    from withhold.actions.request import DataOptions
    from withhold.release.wishes import Wishes

    reading: dict[str, Any] = {"group": group, "delimiter": delimiter, **text_model(text)}
    if features is not None:
        reading["features"] = features
    made = release_given(
        GivenRequest(
            data=data,
            output=output,
            suppress=suppress,
            preserve=preserve,
            bundle=bundle,
            config=settings_by_name(settings),
            seed=seed,
            reading=DataOptions(**reading),
            wishes=Wishes.of(
                keep=keep or [], drop=drop or [], same_order=same_order, hold_back=hold_back
            ),
            fail_if=tuple(fail_if or ()),
            quick=quick,
            of_engine=EngineOptions(engine=engine, workers=workers),
            key=key,
            overwrite=overwrite,
        ),
        choose_progress(quiet),
    )
    if as_json:
        print_json(_said(made))
    elif not quiet:
        _tell(made)
    if not made.passed:
        raise typer.Exit(GATE_FAILED)


def _said(made: Given) -> dict[str, Any]:
    return {
        "folder": str(made.folder),
        "release": str(made.release),
        "bundle": str(made.bundle),
        "rows": None if made.rows is None else str(made.rows),
        "report": str(made.report),
        "records": made.written.records,
        "held_back": made.certificate.release.held_back,
        "columns": made.written.columns,
        "left_out_because": made.written.decision.left_out,
        "certificate": made.certificate.model_dump(mode="json")["attributes"],
        "verdict": made.audit.verdict,
        "passed": made.passed,
    }


def _tell(made: Given) -> None:
    from withhold.certificate.claim_wording import APART, at_most, person_sentence
    from withhold.certificate.claim_wording import at_most_or_guess as bound
    from withhold.report.with_original_words import with_original_lines

    tell_columns(f"{near(made.release)}: {made.written.records:,} records", _moved(made))
    for name, claims in made.certificate.attributes.items():
        claim = claims.release
        if claim is None:
            continue
        linked = claim.linked if claim.plan is None else claim.plan.linked
        person = None if claim.plan is None else claim.plan.person
        apart = "" if person is None else f" ({APART})"
        line = (
            f"proved: nobody who cannot tell whose row it is names '{name}' from it in more than"
            f" {bound(claim.stated, claim.floor, digits=2)} % of cases (guessing:"
            f" {100 * claim.floor:.2f} %), nor from 20 rows of one class{apart} in more than"
            f" {bound(linked['20'], claim.floor)} %; with all rows at hand, and even with the"
            f" totals of each code, in no more than {at_most(claim.one, digits=2)} %"
        )
        typer.echo(wrapped(line, sys.stdout))
        if person is not None:
            kept = ", ".join(made.certificate.release.kept_by_name)
            beside = f". This does not cover {kept}, kept by name" if kept else ""
            line = f"proved of '{name}': {person_sentence(person)}{beside}"
            typer.echo(wrapped(line, sys.stdout))
        typer.echo(wrapped(_of_known_labels(name, claim, made), sys.stdout))
    found = len(made.audit.always) + 1  # after these, each part of the verdict says what it is
    for i, said in enumerate(made.audit.verdicts):
        typer.echo(wrapped(f"attacked: {said}" if i < found else said, sys.stdout))
    for said in with_original_lines(made.audit):
        typer.echo(wrapped(f"measured: {said}", sys.stdout))
    for name in made.certificate.attributes:
        _tell_linked(name, made)
    blind = any(a.status == "blind" for a in made.audit.suppressed.values())
    if made.passed and not made.audit.alarming and not blind:
        todo = "hand over this folder; start with README.md and report.html"
    elif made.passed and not made.audit.alarming:
        todo = "the audit cannot tell; read report.html before you hand this folder over"
    else:
        todo = "do not hand over this folder before you have read report.html"
    typer.echo(f"{near(made.folder)}: {todo}")
    private = [made.bundle, *([] if made.rows is None else [made.rows]), made.report]
    typer.echo(
        wrapped(
            f"{', '.join(str(near(p)) for p in private)}: keep private (the key, which row became"
            " which, and the report with exact figures)",
            sys.stdout,
        )
    )
    if not made.passed:
        typer.echo(wrapped("the gate failed: do not hand this folder over", sys.stderr), err=True)


def _of_known_labels(name: str, claim: ReleaseClaim, made: Given) -> str:
    """What someone reads who knows the labels of all other rows, and what can be done about it."""
    from withhold.certificate.claim_wording import at_most
    from withhold.certificate.elimination_bound import ALL_BUT_ONE

    held = made.certificate.release.held_back
    if held:
        return (
            f"held back: {held:,} rows, drawn at random. So even someone who knows the labels of"
            f" all other rows that leave, but not who stays, names '{name}' in at most"
            f" {at_most(claim.known[ALL_BUT_ONE])} %, if people have one row each"
        )
    return (
        f"not proved: someone who knows the labels of all other rows (our attack names '{name}' in"
        f" {100 * claim.measured[ALL_BUT_ONE]:.1f} %); --hold-back 10% limits that"
    )


def _tell_linked(name: str, made: Given) -> None:
    """What the audit read from several rows of one person, where it measured that."""
    from withhold.report.linked_words import most_linked, who_linked

    most = most_linked(name, made.audit.attributes.get(name))
    if most is None:
        return
    line = (
        f"attacked: {most.records} rows of one person together name '{name}' in"
        f" {100 * most.accuracy:.1f} % of cases (guessing: {100 * most.floor:.1f} %;"
        f" {who_linked(most)})"
    )
    claim = made.certificate.attributes[name].release
    if claim is None or claim.plan is None or claim.plan.person is None:
        line += "; the proof is about rows of which nobody knows that they are of one person"
    typer.echo(wrapped(line, sys.stdout))


def _moved(made: Given) -> Any:
    """What was written, where it is now: the list of rows is told of with the bundle."""
    from dataclasses import replace

    return replace(made.written, rows=None, certificate=near(made.folder) / "certificate.json")
