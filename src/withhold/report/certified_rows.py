"""What is proved of the rows of one release: sentences, facts, and a table by kind of attacker."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.checked_certificate import Certified, CertifiedRows
from withhold.certificate.claim_wording import APART, at_most, at_most_or_guess, no_more
from withhold.certificate.claims import PersonClaim, PlanClaim, ReleaseClaim
from withhold.certificate.elimination_bound import ALL_BUT_ONE
from withhold.report.number_format import NONE, at_most_percent, counted, percent, points
from withhold.report.wording import bold

NOT_VERIFIED = "as the certificate says, not verified without the key"
_RAN = "was right, % (an attack we ran)"
_SPACE = "\N{NO-BREAK SPACE}"
_KNOWN = {
    "0.1": "knows a tenth of the labels",
    "0.5": "knows half of the labels",
    "0.9": "knows nine tenths of the labels",
    "all-but-one": "knows all other labels",
}


@dataclass(frozen=True)
class RowsTable:
    """What is certified of one release against each kind of attacker."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    guessing: float  # right without the codes


def rows_table(
    name: str, a: AttributeEvidence, found: Certified | CertifiedRows
) -> RowsTable | None:
    """The figures of the plan if there are any, those of the drawn table, and what attacks read."""
    claim = found.release
    if claim is None:
        return None
    plan = claim.plan
    table = [
        ("sees one row", at_most(claim.one), points(a.best.accuracy)),
        *(
            (f"sees {size} rows of one class", _or_open(bound), measured(name, a, size))
            for size, bound in claim.linked.items()
        ),
        *(
            (_known(share, bound, plan), _or_open(bound), points(claim.measured.get(share)))
            for share, bound in claim.known.items()
        ),
    ]
    if plan is None:
        who = "proved" if found.reliable else NOT_VERIFIED
        plain = ("An attacker who …", f"is right at most, % ({who})", _RAN)
        return RowsTable(plain, tuple(table), claim.floor)
    figures = [at_most_or_guess(plan.one, claim.floor)]
    of_classes = [at_most_or_guess(plan.linked.get(r, 1.0), claim.floor) for r in claim.linked]
    # Of rows that may share a draw, the plan has no figure.
    figures += of_classes if plan.person is None else [NONE] * len(of_classes)
    figures += [NONE] * len(claim.known)  # the plan has no figure for these
    heads = (
        "An attacker who …",
        f"is right at most, % ({'proved' if found.verified else NOT_VERIFIED})",
        "even if the totals of each code were known, %"
        + ("" if found.reliable else f" ({NOT_VERIFIED})"),
        _RAN,
    )
    rows = [(who, of_plan, *rest) for (who, *rest), of_plan in zip(table, figures, strict=True)]
    if plan.person is not None:
        for size, figure in zip(claim.linked, of_classes, strict=True):
            rows.append((f"sees {size} rows of one class, {APART}", figure, NONE, NONE))
        beside = plan.person.beside
        rows += [
            (who, figure, NONE if beside is None else at_most(beside), NONE)
            for who, figure in _of_person(plan.person)
        ]
    return RowsTable(heads, tuple(rows), claim.floor)


def _of_person(person: PersonClaim) -> list[tuple[str, str]]:
    """Who sees all rows of one person, and what is proved: beside what their number tells."""
    if person.floor is None or person.all_rows is None:
        return []
    shown = [
        ("all rows of one person with one preserved value", person.unit_floor, person.unit),
        ("all rows of one person", person.floor, person.all_rows),
    ]
    return [
        (
            f"sees {rows} (their number alone tells it in {percent(floor)})",
            at_most_or_guess(figure, floor),
        )
        for rows, floor, figure in shown
    ]


def of_these_rows(name: str, claim: ReleaseClaim) -> Markup:
    """The figure of the table of classes by codes."""
    return Markup(
        "For the {} of this release, no attacker names {} correctly from one of them in more than"
        " {} of cases. This is an exact count, rounded up. It holds for every attacker who does not"
        " know which row is whose."
    ).format(counted(claim.records, "record"), bold(name), bold(at_most_percent(claim.one)))


def rows_sentences(name: str, found: CertifiedRows) -> list[Markup]:
    """What is proved of a release whose certificate says nothing about later records."""
    claim, plan = found.release, found.release.plan
    said: list[Markup] = []
    if plan is not None and found.verified:
        said += [_of_plan("Whoever", name, plan, claim), _even_if(claim)]
    elif found.reliable:
        said.append(of_these_rows(name, claim))
    if not found.verified and (plan is not None or not said):
        told = (
            of_these_rows(name, claim) if plan is None else _of_plan("whoever", name, plan, claim)
        )
        said.append(Markup("Not verified without the key, the certificate says: {}").format(told))
    return [*said, Markup("Guessing without the release: {}.").format(bold(percent(claim.floor)))]


def rows_in_short(found: Certified | CertifiedRows) -> Markup:
    """What is proved of one row of this release: for its plan if the key verified it."""
    assert found.release is not None
    if found.plan is None:
        return Markup("Proved: no attacker names it for more than {} of these records.").format(
            bold(at_most_percent(found.release.one))
        )
    one, floor = found.plan.one, found.release.floor
    return Markup(
        "Proved: whoever sees one row, and does not know the draws, names it for at most {} of"
        " all these records{}."
    ).format(bold(plan_percent(one, floor)), as_often(one, floor))


def not_proved(found: Certified | CertifiedRows) -> Markup:
    """Why the figures of a certificate are not shown as proved."""
    if isinstance(found, CertifiedRows) and not found.verified:
        return Markup(
            "Not proved: its certificate cannot be counted again from these rows, and no key was"
            " given to check its signature."
        )
    return Markup("Not proved: its certificate could not be checked against this file.")


def plan_percent(figure: float, floor: float) -> str:
    """A figure of a plan, `66.9 %`: that of guessing if it is no more."""
    return f"{at_most_or_guess(figure, floor)}{_SPACE}%"


def as_often(figure: float, floor: float) -> str:
    """The end of a sentence about a figure of a plan."""
    return ": as often as by guessing" if no_more(figure, floor) else ""


def rows_facts(found: CertifiedRows) -> list[tuple[str, Markup]]:
    """How even a verified plan is, in words."""
    if found.plan is None:
        return []
    apart = 100 * found.plan.unequal
    most = "less than 0.001" if apart < 0.001 else f"at most {apart:.3f}"
    return [
        (
            "Use of the codes",
            Markup(
                "a class and all records differ by {} points in how often they get a code, on"
                " average over the draws"
            ).format(most),
        )
    ]


def measured(name: str, a: AttributeEvidence, size: str) -> str:
    """What linked records of one person tell; comparable only if the class is the person."""
    found = a.linked.get(size) if a.linked_by in (None, name) else None
    return NONE if found is None else points(found.accuracy)


def _of_plan(who: str, name: str, plan: PlanClaim, claim: ReleaseClaim) -> Markup:
    return Markup(
        "{} sees one row, and knows every original and every label but not the draws, names the {}"
        " correctly in at most {} of cases{}."
    ).format(
        who,
        bold(name),
        bold(plan_percent(plan.one, claim.floor)),
        as_often(plan.one, claim.floor),
    )


def _even_if(claim: ReleaseClaim) -> Markup:
    return Markup(
        "Even whoever knew how many rows of each class drew each code would be right in at most {}."
        " Both figures need no confidence level. They hold for everyone who does not know which row"
        " is whose."
    ).format(bold(at_most_percent(claim.one)))


def _known(share: str, bound: float, plan: PlanClaim | None) -> str:
    said = _KNOWN.get(share, share)
    said += "" if plan is not None else " and the class totals"
    return f"{said} (can subtract)" if share == ALL_BUT_ONE and bound >= 1 else said


def _or_open(bound: float) -> str:
    return "no bound" if bound >= 1 else at_most(bound)
