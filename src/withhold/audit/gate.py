"""The gate: `speaker>floor+2; digit<95` fails an audit with a higher or a lower figure.

A condition is NAME[@WHAT] OP VALUE. An audit FAILS if a condition holds.

    NAME   an attribute, or a joint attribute (`gender,accent`)
    WHAT   ignorant, informed, linked, linked5, linked20, linked_row, linked_number, repeated,
           worst; or all_rows, columns, column, with_original, subgroup; or bits, nag, balanced; or
           certificate, the bound on every attacker
    OP     > >= < <=
    VALUE  a number in points (60 or 60%; bits for bits), or floor, majority, original with + or -.
           Below 1 it needs its sign (0.6%): without it, it is almost surely a share by mistake.

Without WHAT, > tests the worst tier: any leak counts. < tests the informed figure: what a model
trained on the release can use. A release that still contains a suppressed attribute as a column, or
unchanged records, always fails. So does one with a certificate that an attack contradicts.

A condition with > also fails if the verdict on its attribute is "blind": the attackers do not
read it from the original either, or nothing shows that records are compared with their own
originals, so that their failure on the release proves nothing. Only a condition on the certificate
can pass then.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from pydantic import Field

from withhold.audit.checked_certificate import Certified, CertifiedRows
from withhold.audit.findings import Finding
from withhold.core.errors import UserError, did_you_mean, listing

if TYPE_CHECKING:
    from withhold.audit.attribute_evidence import AttributeEvidence

_OPS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_WHAT = (
    *("worst", "ignorant", "informed", "linked", "linked_row", "linked_number", "repeated"),
    *("all_rows", "columns", "column", "with_original", "subgroup"),
    *("bits", "nag", "balanced", "certificate"),
)
_BASES = ("floor", "majority", "original")


class Condition(Finding):
    """One condition under which an audit fails."""

    text: str
    attribute: str
    what: str
    op: str
    base: str
    offset: float


class Checked(Finding):
    """A condition and its result."""

    condition: str
    failed: bool
    found: float | None = Field(description="in points; null if it was not measured")
    limit: float
    said: str


class GateResult(Finding):
    """Every condition of a gate, checked."""

    passed: bool
    conditions: tuple[Checked, ...]

    @property
    def failures(self) -> tuple[str, ...]:
        """The conditions that held, in words."""
        return tuple(c.said for c in self.conditions if c.failed)


def parse_gate(text: str | Iterable[str], known: Iterable[str]) -> tuple[Condition, ...]:
    """Parse one or several expressions; attribute names must be in `known`."""
    pieces = [text] if isinstance(text, str) else [str(t) for t in text]
    conditions = [p.strip() for piece in pieces for p in piece.split(";") if p.strip()]
    if not conditions:
        raise UserError('--fail-if is empty; write it like "speaker>floor+2; digit<95"')
    return tuple(_parse(c, list(known)) for c in conditions)


def require_measured(conditions: Iterable[Condition], tiers: Iterable[str]) -> None:
    """Refuse a condition on a tier that this audit will not measure, before it runs."""
    able = list(tiers)
    for condition in conditions:
        tier = condition.what in (
            "ignorant",
            "repeated",
            "with_original",
        ) or condition.what.startswith("linked")
        if tier and condition.what not in able:
            raise UserError(
                f"--fail-if '{condition.text}': tier '{condition.what}' will not be measured"
                f" (this audit has: {', '.join(able)})"
            )


def check_gate(
    conditions: Iterable[Condition],
    attributes: dict[str, AttributeEvidence],
    always: Iterable[str] = (),
    *,
    alone: bool = False,
) -> GateResult:
    """Check the conditions against the evidence.

    `always` are findings, in words, that always fail. `alone` says that the audit had only the
    original and no release.
    """
    checked = tuple(_check(c, attributes[c.attribute], alone=alone) for c in conditions)
    checked += tuple(
        Checked(condition="always", failed=True, found=None, limit=0.0, said=said)
        for said in always
    )
    return GateResult(passed=not any(c.failed for c in checked), conditions=checked)


def _parse(text: str, known: list[str]) -> Condition:
    match = re.fullmatch(r"\s*(.+?)\s*(>=|<=|>|<)\s*([^<>=]+?)\s*", text)
    if match is None:
        raise UserError(
            f"--fail-if '{text}' is not NAME OP VALUE; write it like \"speaker>floor+2\""
        )
    name, op, value = match.groups()
    if name.endswith("=") and name.rstrip("= ") in known:
        raise UserError(f"--fail-if '{text}': write {op}= for '={op}'")
    name = name.strip() if name.strip() in known else re.sub(r"\s*,\s*", ",", name.strip())
    what = "worst" if op.startswith(">") else "informed"
    if name not in known and "@" in name:
        name, _, what = (piece.strip() for piece in name.rpartition("@"))
    if name not in known:
        hint = did_you_mean(name, known) or f" (it has: {listing(known)})"
        raise UserError(f"--fail-if '{text}': attribute '{name}' is not in the audit{hint}")
    if what not in _WHAT and not re.fullmatch(r"linked\d+", what):
        raise UserError(
            f"--fail-if '{text}': there is no '{what}'{did_you_mean(what, _WHAT)}"
            f" (there is: {', '.join(_WHAT)})"
        )
    base, offset = _value(value, text)
    if not base and what != "bits" and 0 < abs(offset) < 1 and not value.endswith("%"):
        raise UserError(
            f"--fail-if '{text}': the number is in percent; write {100 * offset:g} for"
            f" {100 * offset:g} %, or {offset:g}% if you mean so little"
        )
    if what in ("bits", "nag", "balanced") and base:
        raise UserError(f"--fail-if '{text}': '{what}' is compared with a number alone")
    return Condition(text=text, attribute=name, what=what, op=op, base=base, offset=offset)


def _value(value: str, text: str) -> tuple[str, float]:
    match = re.fullmatch(r"(?:([a-z]+)\s*)?([+-]?\s*\d+(?:\.\d+)?)?\s*%?", value)
    base, number = match.groups() if match else (None, None)
    if match is None or (base is None and number is None) or (base and base not in _BASES):
        raise UserError(
            f"--fail-if '{text}': '{value}' is not a number of points, nor"
            f" {listing(_BASES)} with + or - points"
        )
    if base and number and number.strip()[0].isdigit():
        raise UserError(f"--fail-if '{text}': write '{base}+{number.strip()}'")
    return base or "", float((number or "0").replace(" ", ""))


def _check(condition: Condition, a: AttributeEvidence, *, alone: bool) -> Checked:
    found, where = _found(condition, a)
    scale = 1.0 if condition.what == "bits" else 100.0
    limit = scale * float(_base(condition, a, where)) + condition.offset
    if found is None:  # a condition that cannot be checked fails
        said = f"{condition.text}: cannot be checked: {where}"
        return Checked(condition=condition.text, failed=True, found=None, limit=limit, said=said)
    failed = _OPS[condition.op](found, limit)
    if not failed and _proves_nothing(condition, a):
        said = f"{condition.text}: {_why_blind(condition.attribute, a, alone=alone)}"
        return Checked(condition=condition.text, failed=True, found=found, limit=limit, said=said)
    unit = "bits" if condition.what == "bits" else "%"
    verb = "is" if failed else "is not"
    said = (
        f"{condition.text}: {condition.attribute} ({where}) {verb} {condition.op}"
        f" {limit:.2f} {unit}: {found:.2f} {unit}"
    )
    return Checked(condition=condition.text, failed=failed, found=found, limit=limit, said=said)


def _proves_nothing(condition: Condition, a: AttributeEvidence) -> bool:
    """Whether a low figure is no sign of safety: see `AttributeEvidence.status`."""
    asks_for_leaks = condition.op.startswith(">") and condition.what != "certificate"
    return asks_for_leaks and a.status == "blind"


def _why_blind(name: str, a: AttributeEvidence, *, alone: bool) -> str:
    if a.unpaired:
        return (
            "nothing shows that records of the release are compared with their own originals; vouch"
            " for their order (--same-order), or gate on a certificate"
            f" ('{name}@certificate>...')"
        )
    if alone:
        return (
            f"the attackers do not read '{name}' from this data, which does not show that nobody"
            " can; audit the original together with its release, or gate on a certificate"
            f" ('{name}@certificate>...')"
        )
    return (
        f"the attackers do not read '{name}' from the original either, so their failure on the"
        " release proves nothing; audit more records or without --quick, or gate on a certificate"
        f" ('{name}@certificate>...')"
    )


def _base(condition: Condition, a: AttributeEvidence, tier: str) -> float:
    bases = {
        "floor": a.floor_of(tier),
        "majority": a.majority,
        "original": a.original.accuracy,
        "": 0.0,
    }
    return bases[condition.base]


def _found(condition: Condition, a: AttributeEvidence) -> tuple[float | None, str]:
    """The figure in points and its name; or None and the reason."""
    what = condition.what
    if what == "worst":
        return 100 * a.worst, a.worst_tier
    if what == "bits":
        return a.leakage_bits, "bits"
    if what == "balanced":
        return 100 * a.informed.balanced_accuracy, "informed, balanced"
    if what == "nag":
        if a.nag is None:
            return None, "NAG is undefined if the original is not read above the majority"
        return 100 * a.nag, "nag"
    if what == "certificate":
        return _bound(condition.attribute, a)
    if what == "with_original" and a.with_original is not None:  # also if rows cannot be linked
        return 100 * a.with_original.accuracy, what
    if what in ("column", "subgroup") and what not in a.tiers:
        return 100 * a.floor, f"{what}: none is surely above the floor"
    tiers = {n: t for n, t in a.tiers.items() if n == what or (what == "linked" and what in n)}
    if not tiers:
        return None, f"tier '{what}' was not measured (measured: {', '.join(a.tiers)})"
    name = max(tiers, key=lambda n: tiers[n].accuracy)
    return 100 * tiers[name].accuracy, name


def _bound(name: str, a: AttributeEvidence) -> tuple[float | None, str]:
    """The certified bound (for these rows, if there is one); or None and why not to rely on it."""
    if a.certificate is None:
        return None, f"there is no certificate for '{name}'; give one with --certificate"
    if not a.certificate.checked and not a.certificate.of_this_file:
        return None, _not_checked(a.certificate)
    if not a.certificate.reliable:
        return None, "the certificate is unsigned; give --key or the bundle"
    bound = a.certificate.of_these_rows
    if bound is None:
        return None, f"the certificate proves nothing about '{name}' for other people"
    more = a.beyond_codes(bound)
    if more is not None:
        return None, (
            f"the certificate covers only the codes, and this file reveals more: tier '{more}'"
            f" reads {100 * a.tiers[more].accuracy:.2f} %"
        )
    if a.exceeds(bound):
        return (
            None,
            f"the certificate is contradicted: an attack reads {100 * a.best.accuracy:.2f} %",
        )
    return 100 * bound, "certificate"


def _not_checked(found: Certified | CertifiedRows) -> str:
    """Why a gate cannot use the certificate of rows that are not codes."""
    if isinstance(found, CertifiedRows) and not found.verified:
        return "the certificate cannot be counted again from these rows; give --key or the bundle"
    return "the certificate was not checked against the release"
