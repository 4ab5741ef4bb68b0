"""The text of a certificate: its assumptions, its headline and one sentence per attribute."""

from __future__ import annotations

import math
from collections.abc import Iterable

from withhold.certificate.claims import (
    AttributeClaim,
    Certificate,
    NoGroupClaim,
    PersonClaim,
    PlanClaim,
)

_SUMS = 1e-5  # plans are summed in single precision

ASSUMPTIONS = (
    "The records counted here are independent of each other and like those that will be released."
    " If a bound counts groups, this holds for the groups.",
    "The channel (codes, key, settings) was fixed before these records were seen. The codes that"
    " the key really assigns are counted, including the one code that equal records share.",
    "Every record is released once: one code, drawn under a key that stays secret.",
    "The attacker may know everything else (the codes, their probabilities, other labels) and use"
    " any computer.",
    "The attacker does not have the original of the record. Whoever has it, even without the"
    " suppressed attribute, may read more from both together than from either alone.",
    "The attacker sees the code and nothing else. A code vector and its index tell the same, and"
    " anything computed from them tells no more. Other columns that are released with the code"
    " (preserved labels, dates, ids) are not covered.",
    "These bounds are about records that the fit never saw. For the rows of one release, including"
    " fitted ones, see the certificate that is written beside the release.",
    "Each bound holds with its confidence on its own. If you make k fits and keep the best, certify"
    " each at confidence 1 - (1 - c) / k (Bonferroni).",
    "Linked bounds are for records drawn independently from one class. Records of one person whose"
    " class many share may tell more.",
)

PLAN_ASSUMPTIONS = (
    "The figures of the plan are exact. Every row drew its code by itself. They hold for every"
    " attacker who is shown one row, or several rows of one class, and may know all originals, all"
    " labels, all codes and the plan, but not the draws, the key or which row is whose.",
    "An attacker who also has all other rows of the release may learn a little more, because they"
    " show something of the draws. 'one', 'linked' and 'known' bound that too: they are for"
    " attackers who know how many rows of each class drew each code.",
)

# Of a release in which people draw, in place of these.
PERSON_ASSUMPTIONS = (
    "The figures of the plan are exact. Every person drew one code for all its rows with the same"
    " class and preserved labels. The figures hold for every attacker who is shown one row, or rows"
    " of several draws that are picked at random from one class, and may know all originals, all"
    " labels, all codes and the plan, but not the draws, the key or which row is whose.",
    "An attacker who also has all other rows of the release may learn a little more, because they"
    " show something of the draws. 'one', 'linked' and 'known' bound that for rows of which nobody"
    " knows that they are of one person, 'plan.person.beside' for all rows of one person.",
)

APART = "of several draws picked at random"  # rows that are separate draws

PERSON_NOTES = (
    "Every person drew one code for all its rows with the same class and preserved labels, so these"
    " rows together tell what one of them tells: 'plan.person.unit' is the figure for all of them."
    " How many rows a person has is not hidden, and 'unit_floor' is what that number and the"
    " preserved labels tell without any code. Rows of one person with different preserved labels"
    " are separate draws, which 'all_rows' counts together.",
    "'known' is for an attacker who cannot tell which rows are of one person. Nothing is claimed"
    " for one who can: a known label of one row of a person tells that of its other rows, whatever"
    " the codes are. 'measured' counts these other rows among the known ones.",
)


def plan_assumptions(plans: Iterable[PlanClaim | None]) -> tuple[str, ...]:
    """What the figures of these plans rest on; nothing if there are none."""
    there = [plan for plan in plans if plan is not None]
    if not there:
        return ()
    return PLAN_ASSUMPTIONS if there[0].person is None else PERSON_ASSUMPTIONS


def headline(certificate: Certificate) -> str:
    """One sentence about the attribute whose bound is furthest above guessing."""
    above = {
        name: (1.0 if a.stated is None else a.stated) - a.majority
        for name, a in certificate.attributes.items()
    }
    name, others = max(above, key=above.__getitem__), len(above) - 1
    rest = f"; {others} more in the certificate" if others else ""
    return f"certificate: {sentence(name, certificate.attributes[name])}{rest}"


def sentence(name: str, a: AttributeClaim) -> str:
    """What is certified about one attribute; by group if a group was named."""
    if a.stated is None:
        assert isinstance(a.groups, NoGroupClaim)
        return (
            f"nothing is proved about '{name}' of other people ({a.groups.reason}); for further"
            f" records of the same people the bound is {at_most(a.bound)} %"
        )
    return (
        f"no attacker reads '{name}' from one record in more than {at_most(a.stated)} % of cases"
        f" (confidence {100 * a.confidence:g} %, {a.stated_units}; majority"
        f" {100 * a.majority:.1f} %)"
    )


def person_sentence(person: PersonClaim) -> str:
    """What is proved of all rows of one person, where people draw."""
    if person.floor is None or person.all_rows is None or person.beside is None:
        return f"For all rows of one person nothing is proved: {person.reason}"
    said = (
        f"All rows of one person name it in at most"
        f" {at_most_or_guess(person.all_rows, person.floor)} % of cases; their number"
        f" alone does in {100 * person.floor:.1f} %. With all other rows at hand, and even with the"
        f" totals of each code, in no more than {at_most(person.beside)} %"
    )
    if person.all_rows > person.unit:
        said += (
            ". All rows of one person with one preserved value: at most"
            f" {at_most_or_guess(person.unit, person.unit_floor)} %"
        )
    return said


def at_most_or_guess(bound: float, floor: float, *, digits: int = 1) -> str:
    """A figure in percent: rounded as guessing is if it is no more than guessing, otherwise up.

    Sums of a plan differ from the floor in the eighth digit. Rounding that up would show a leak
    that is not there.
    """
    return f"{100 * floor:.{digits}f}" if no_more(bound, floor) else at_most(bound, digits=digits)


def no_more(bound: float, floor: float) -> bool:
    """Whether a figure of a plan is the floor, up to the precision of its sums."""
    return bound <= floor + _SUMS


def at_most(bound: float, *, digits: int = 1) -> str:
    """A bound in percent, rounded up: rounded down it would promise more than is proved."""
    return f"{math.ceil(10 ** (digits + 2) * bound - 1e-9) / 10**digits:.{digits}f}"
