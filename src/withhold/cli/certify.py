"""`withhold certify`: a bound on every attacker, for releases with finitely many codes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from withhold.cli.help import DATA, option
from withhold.cli.options import (
    Engine,
    Exclude,
    Group,
    Json,
    Key,
    MultiLabel,
    Quiet,
    Test,
    Workers,
    choose_progress,
    print_json,
    reading,
)
from withhold.core.terminal import printable

if TYPE_CHECKING:
    from withhold.certificate.claims import AttributeClaim, Certificate


def certify(
    bundle: Annotated[Path, typer.Argument(help="Bundle from withhold fit.", metavar="BUNDLE")],
    data: Annotated[
        Path,
        typer.Argument(
            help="Labelled records that the fit never saw, or the same file as the fit.",
            metavar="DATA",
        ),
    ],
    output: Annotated[Path, option("Certificate to write (JSON).", None, "--output", "-o")],
    confidence: Annotated[float, option("Confidence of the bound, 0 to 1.")] = 0.95,
    features: Annotated[
        str | None, option("Feature columns, if they differ from the fit.", DATA)
    ] = None,
    group: Group = None,
    exclude: Exclude = None,
    multilabel: MultiLabel = None,
    test: Test = None,
    key: Key = None,
    engine: Engine = "local",
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Bound what any attacker can infer from one released record.

    With the given confidence, the bound holds for every attacker, of any strength, and not only for
    those that an audit tries. The certificate states its assumptions.
    """
    from withhold.actions.certify import CertifyRequest
    from withhold.actions.certify import certify as certified
    from withhold.actions.engine_options import EngineOptions

    request = CertifyRequest(
        bundle=bundle,
        data=data,
        output=output,
        confidence=confidence,
        features=features,
        reading=reading(None, group, exclude, multilabel, test),
        key=key,
        of_engine=EngineOptions(engine=engine, workers=workers),
    )
    found = certified(request, choose_progress(quiet))
    if as_json:
        print_json(found.to_dict())
    elif not quiet:
        _tell(found)
        typer.echo(f"certificate: {output}")


def _tell(found: Certificate) -> None:
    """Print a short table and its assumptions."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("attribute", overflow="fold", min_width=9)
    sizes = list(next(iter(found.attributes.values())).linked)
    headers = ["majority", "floor", "of one", "new group"]
    for header in [*headers, *(f"of {r}" for r in sizes)]:
        table.add_column(header, justify="right", no_wrap=True)
    for name, a in found.attributes.items():
        table.add_row(escape(printable(name)), *_cells(a))
    console = Console()
    console.print()
    console.print(table)
    console.print()
    for line in _lines(found):
        whole = not console.is_terminal
        console.print(printable(line), highlight=False, markup=False, soft_wrap=whole)


def _cells(a: AttributeClaim) -> list[str]:
    from withhold.certificate.claim_wording import at_most
    from withhold.certificate.claims import NoGroupClaim

    people = "–" if isinstance(a.groups, NoGroupClaim) else at_most(a.groups.bound)
    linked = [at_most(claim.bound) for claim in a.linked.values()]
    return [_points(a.majority), _points(a.floor), at_most(a.bound), people, *linked]


def _lines(found: Certificate) -> list[str]:
    from withhold.certificate.claim_wording import sentence
    from withhold.certificate.claims import NoGroupClaim

    lines = [
        "in % of cases: how often any attacker, however strong, is right at most; from one record,"
        " from one record of a new group, from several records of one class together (loose)",
        *(f"note: {note}" for note in found.notes),
    ]
    if found.data.near_twins is not None:
        lines.append(
            f"{100 * found.data.near_twins:.1f} % of these records nearly equal a record of the fit"
            " (no more than expected by chance)"
        )
    for name, a in found.attributes.items():
        least, worst = a.smallest_behind_code, a.worst_lift
        lines.append(
            f"{sentence(name, a)}; {a.codes_used:,} of {found.codes:,} codes used, at least"
            f" {least.number:,} {least.of} behind each; worst code: '{worst.of}' is"
            f" {worst.lift:.1f} times as likely as overall"
        )
        if isinstance(a.groups, NoGroupClaim):
            lines.append(f"no bound on '{name}' for new people like these: {a.groups.reason}")
    return [*lines, "assumes:", *(f"- {line}" for line in found.assumptions)]


def _points(share: float) -> str:
    return f"{100 * share:.1f}"
