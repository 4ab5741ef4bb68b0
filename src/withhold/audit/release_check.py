"""Compare the claim about a release with its rows and labels.

Every figure of the claim follows from the table of classes by codes, so anyone with the release
and the labels can recompute it. It was rounded up when it was stated. A lower figure is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.label_floor import floor_of, with_preserved
from withhold.audit.plan_check import check_plan
from withhold.audit.recount import Codes, Counted
from withhold.certificate.bound import Table, Tally
from withhold.certificate.claims import AttributeClaim, ReleaseClaim
from withhold.certificate.elimination_bound import ALL_BUT_ONE
from withhold.certificate.given_release import PEOPLE, release_claim
from withhold.certificate.stated_figures import rounded_up
from withhold.certificate.targets import JOINT
from withhold.core.errors import UserError
from withhold.records.attribute import Attribute

_ROUNDING = 1e-6
_MONTE_CARLO = 0.03
_AGAIN = ": it was changed, or belongs to another release; make the release again"


def checked_claim(
    claim: ReleaseClaim | None,
    attribute: Attribute,
    codes: Codes,
    given: Sequence[Attribute],
    *,
    of: int,
    told: Sequence[Attribute] | None = None,
    people: Codes | None = None,
    vectors: FloatArray | None = None,
    verified: bool,
    held_back: int = 0,
    alone: bool = True,
) -> tuple[ReleaseClaim | None, list[str]]:
    """The claim as it may be shown, and notes. Raise `UserError` if it states less than the rows.

    given: the preserved attributes of the audit. of: the number of codes. told: the labels that the
    certificate counts as known, if all of them are here. people: (n,), the person of each row.
    vectors: (N, d), the vector of each code, for attacks on groups of near codes. held_back: rows
    that the certificate says were held back at random. alone: whether it is about one attribute.

    With `told`, the figure for one row must be the count here, rounded up. A figure that is too
    high is a sign that the labels do not belong to the rows, and with wrong labels any release
    looks private. Figures that are not bounds are replaced by our own: the measured attacks, and a
    floor that the labels of this audit do not confirm.
    """
    name = attribute.name
    tally = Tally(len(attribute.classes), of)
    tally.add(codes, attribute.codes)
    classes = int((tally.table.sum(axis=1) > 0).sum())
    if claim is None:
        if classes < 2 or ("," in name and classes > JOINT):
            return None, [f"nothing is certified about '{name}' in the rows of this release"]
        raise UserError(
            f"the certificate has no claim about the rows of this release for '{name}', although"
            " they are codes and have labels: the claim was removed, or the release was made"
            " without labels; make the release again"
        )
    floor = floor_of(attribute, given)
    again = release_claim(
        tally.table,
        floor=floor,
        missing=int((attribute.codes < 0).sum()),
        people=None if people is None else _by_person(attribute, codes, people, of),
        codes=vectors,
    )
    if held_back:
        return _claim_of_all(
            claim, again, attribute, codes, told, held_back, of, people=people, verified=verified
        )
    _equal(name, claim, again)
    if told is not None:
        exact = with_preserved(attribute, codes, told)
        at_most = rounded_up(exact, records=claim.records, floor=floor_of(attribute, told))
        if claim.one > at_most + _ROUNDING:
            raise UserError(
                f"the certificate of this release says {100 * claim.one:.2f} % of '{name}' from one"
                f" row, but the rows and labels given here say {100 * exact:.2f} %: the labels do"
                " not belong to these rows; give the original as it was released, in its order"
            )
    _not_less(name, "from one row", claim.one, again.one, _ROUNDING)
    if claim.plan is not None:
        least = floor_of(attribute, told or ())
        check_plan(
            claim.plan,
            attribute,
            codes,
            floor=least,
            of=of,
            told=told,
            people=people,
            alone=alone,
        )
    chance = max(_MONTE_CARLO, 1 / sqrt(max(again.records, 1)))
    for what, stated, found in (
        ("linked", claim.linked, again.linked),
        ("known", claim.known, again.known),
    ):
        _not_below(name, what, stated, found, chance)
    if not verified:  # within its chance, a figure may have been lowered
        claim = claim.model_copy(
            update={
                "linked": _at_least(claim.linked, again.linked),
                "known": _at_least(claim.known, again.known),
            }
        )
    notes = []
    known = with_preserved(attribute, codes, given)
    if claim.one < known - _ROUNDING and not verified:
        # The claim may have been lowered to the codes alone, or may count fewer labels as known.
        notes.append(
            f"the certificate of this release says {100 * claim.one:.2f} % of '{name}' from one"
            f" row; an attacker who also knows what this audit preserves is right in"
            f" {100 * known:.2f} %, which is shown instead"
        )
        claim = claim.model_copy(update={"one": known})
    if claim.floor > floor + _ROUNDING and not verified:
        said = (
            f"the certificate of this release gives a floor of {100 * claim.floor:.2f} % for"
            f" '{name}', but the labels given here give {100 * floor:.2f} %"
        )
        if given:
            raise UserError(
                f"{said}: it was changed, or other attributes were preserved; name them with"
                " --preserve, or give --key"
            )
        notes.append(f"{said}, which is shown instead; name with --preserve what was preserved")
        claim = claim.model_copy(update={"floor": floor})
    return claim.model_copy(update={"measured": again.measured}), notes


def _claim_of_all(
    claim: ReleaseClaim,
    again: ReleaseClaim,
    attribute: Attribute,
    codes: Codes,
    told: Sequence[Attribute] | None,
    held_back: int,
    of: int,
    *,
    people: Codes | None,
    verified: bool,
) -> tuple[ReleaseClaim, list[str]]:
    """The claim about all rows, of which only those that left can be counted `again`.

    With c' <= c, and at most `held_back` rows more: sum max c' <= sum max c <= sum max c' + more.
    """
    name, more = attribute.name, claim.records - again.records
    _held_back_records(name, claim, again.records, held_back)
    least = floor_of(attribute, told or ()) * again.records / claim.records
    _not_less(name, "from one row", claim.one, again.one * again.records / claim.records, _ROUNDING)
    if told is not None:
        most = (with_preserved(attribute, codes, told) * again.records + more) / claim.records
        if claim.one > rounded_up(min(most, 1.0), records=claim.records) + _ROUNDING:
            raise UserError(
                f"the certificate of this release says {100 * claim.one:.2f} % of '{name}' from one"
                " row, which the rows and labels given here cannot reach: the labels do not belong"
                " to these rows; give the original as it was released, in its order"
            )
    if claim.plan is not None:
        check_plan(claim.plan, attribute, codes, floor=least, of=of, told=told, people=people)
    if verified:
        return claim.model_copy(update={"measured": again.measured}), []
    said = (
        f"the certificate says that {held_back:,} rows were held back, which only its signature can"
        f" show; the figures of '{name}' are of the rows given here, as if these were all"
    )
    return again.model_copy(update={"plan": claim.plan}), [said]


def _held_back_records(name: str, claim: ReleaseClaim, records: int, held_back: int) -> None:
    """Refuse a claim about fewer labelled rows than there are, or about too many."""
    if not records <= claim.records <= records + held_back:
        raise UserError(
            f"the certificate of this release counts {claim.records:,} labelled rows of '{name}',"
            f" {held_back:,} rows held back, but {records:,} labels are given here{_AGAIN}"
        )


def claim_of_labels(
    claim: ReleaseClaim,
    attribute: Attribute,
    told: Sequence[Attribute] | None,
    *,
    people: Codes | None = None,
    held_back: int = 0,
    alone: bool = True,
) -> None:
    """Compare a claim about rows that are not codes with the labels alone; raise `UserError`."""
    known = attribute.codes[attribute.codes >= 0]
    if held_back:
        _held_back_records(attribute.name, claim, len(known), held_back)
        least = floor_of(attribute, told or ()) * len(known) / claim.records
        _not_less(attribute.name, "from one row", claim.one, least, _ROUNDING)
        if claim.plan is not None:
            check_plan(claim.plan, attribute, None, floor=least, of=0, told=told)
        return
    for what, stated, found in (
        ("labelled rows", claim.records, len(known)),
        ("rows without a label", claim.missing, len(attribute.codes) - len(known)),
        ("classes", claim.classes, len(np.unique(known))),
    ):
        _same(attribute.name, what, stated, found)
    least = floor_of(attribute, told or ())
    _not_less(attribute.name, "from one row", claim.one, least, _ROUNDING)
    if claim.plan is not None:
        check_plan(
            claim.plan, attribute, None, floor=least, of=0, told=told, people=people, alone=alone
        )


def _by_person(
    attribute: Attribute, codes: Codes, people: Codes, of: int
) -> tuple[Table, Codes] | None:
    """Row counts by code, (P, N), for each pair of person and class, and the classes, (P,)."""
    known = np.flatnonzero((attribute.codes >= 0) & (people >= 0))
    classes = np.int64(len(attribute.classes))
    pairs, who = np.unique(people[known] * classes + attribute.codes[known], return_inverse=True)
    if not 1 < len(pairs) <= PEOPLE:
        return None
    table = np.zeros((len(pairs), of))
    np.add.at(table, (who.reshape(-1), codes[known]), 1.0)
    return table, pairs % classes


def not_below_majority(
    name: str, claim: AttributeClaim, attribute: Attribute, counted: Counted, *, verified: bool
) -> list[str]:
    """Compare the bound on later records with the majority of the labels given here.

    An honest bound may be lower if the classes of these rows are less balanced than those of the
    certified records. Only a signature can rule out a changed figure.
    """
    most = float(np.bincount(attribute.codes[attribute.codes >= 0], minlength=1).max())
    majority = most / max(counted.records, 1)
    if claim.bound >= majority - _ROUNDING:
        return []
    said = (
        f"the certificate says {100 * claim.bound:.2f} % of '{name}' for later records, which is"
        f" below the majority of {100 * majority:.2f} % of the labels given here"
    )
    if verified:
        return [f"{said}: it does not apply to records like these"]
    raise UserError(
        f"{said}: it was changed, or covers other kinds of records; give --key to show that it was"
        " not changed"
    )


def _equal(name: str, claim: ReleaseClaim, again: ReleaseClaim) -> None:
    for what, stated, found in (
        ("labelled rows", claim.records, again.records),
        ("rows without a label", claim.missing, again.missing),
        ("classes", claim.classes, again.classes),
        ("codes in use", claim.codes_used, again.codes_used),
    ):
        _same(name, what, stated, found)


def _same(name: str, what: str, stated: int, found: int) -> None:
    if stated != found:
        raise UserError(
            f"the certificate of this release counts {stated:,} {what} of '{name}', but the"
            f" rows and labels given here have {found:,}{_AGAIN}"
        )


def _not_below(
    name: str,
    what: str,
    stated: Mapping[str, float],
    found: Mapping[str, float],
    chance: float,
) -> None:
    for size, rate in found.items():
        where = f"'{what}' {size}"
        if size not in stated:
            raise UserError(
                f"the certificate of this release has no figure {where} of '{name}'{_AGAIN}"
            )
        within = _ROUNDING if size == ALL_BUT_ONE else chance
        _not_less(name, where, stated[size], rate, within)


def _at_least(stated: Mapping[str, float], found: Mapping[str, float]) -> dict[str, float]:
    """The higher of two figures each."""
    return {size: max(rate, found.get(size, 0.0)) for size, rate in stated.items()}


def _not_less(name: str, where: str, stated: float, found: float, within: float) -> None:
    if stated < found - within:
        raise UserError(
            f"the certificate of this release says {100 * stated:.2f} % of '{name}' {where}, but"
            f" the rows and labels given here say {100 * found:.2f} %{_AGAIN}"
        )
