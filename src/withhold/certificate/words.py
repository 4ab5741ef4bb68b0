"""A certificate in words: what it assumes, and its headline."""

from __future__ import annotations

import math

from withhold.certificate.claims import AttributeClaim, Certificate

ASSUMPTIONS = (
    "The records counted here are independent of each other and like those that will be released;"
    " where a bound counts groups, the groups are.",
    "The channel (codes, key, settings) was fixed before these records were seen.",
    "Every record is released once: one code, drawn under a key that stays secret.",
    "The attacker may know everything else: the codes, their probabilities, labels, any computer.",
    "The attacker does not hold the record's original: who holds it needs no release.",
    "The attacker sees the code and nothing beside it. A code vector or its index tell the same,"
    " and whatever is computed from it tells no more; other columns that are released with it"
    " (preserved labels, dates, ids) are not covered.",
    "Each bound holds with its confidence on its own. Whoever certifies k fits and keeps the best"
    " spends it: ask each for 1 - (1 - confidence) / k.",
    "Linked bounds are for records drawn independently from one class. Records of one person whose"
    " class many share may tell more. They grow loose with the number of records.",
)


def headline(certificate: Certificate) -> str:
    """One sentence on the attribute whose bound is furthest above guessing."""
    name = max(certificate.attributes, key=lambda n: _gap(certificate.attributes[n]))
    others = len(certificate.attributes) - 1
    rest = f"; {others} more in the certificate" if others else ""
    return f"certificate: {sentence(name, certificate.attributes[name])}{rest}"


def sentence(name: str, a: AttributeClaim) -> str:
    """What is certified of one attribute."""
    return (
        f"no attacker reads '{name}' of one record in more than {at_most(a.bound)} % of cases"
        f" (confidence {100 * a.confidence:g} %, {a.records:,} records; majority"
        f" {_percent(a.majority)})"
    )


def _gap(a: AttributeClaim) -> float:
    return a.bound - a.majority


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def at_most(bound: float) -> str:
    """A bound in percent, rounded up: rounded down it would promise more than is proved."""
    return f"{math.ceil(1000 * bound - 1e-9) / 10:.1f}"
