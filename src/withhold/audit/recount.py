"""Checks of a certificate that need no trust: its own arithmetic, and a count of the released rows.

Anyone can edit a certificate. Its bounds must follow from the counts that it states
(`consistent`), and must not be below a count of the rows of this release (`recount`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.split import Split
from withhold.certificate.bound import Tally, plug_in, upper_bound
from withhold.certificate.claims import AttributeClaim, GroupClaim
from withhold.certificate.code_digests import digests
from withhold.core.errors import UserError
from withhold.records.attribute import Attribute

_ROUNDING = 1e-6
_AGAIN = "; certify again, or use the certificate that was written with the bundle"
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Counted:
    """sum_j max_s c_sj / n of the released rows: all with a label, and those of the test part."""

    records: int
    all_rows: float
    test_records: int
    test: float


def consistent(name: str, claim: AttributeClaim) -> None:
    """Refuse a claim that does not follow from its own records, plug-in and confidence."""
    if not 0 < claim.confidence < 1 or claim.records < 1:
        raise UserError(
            f"the certificate of '{name}' has confidence {claim.confidence:g} and"
            f" {claim.records:,} records, which is impossible{_AGAIN}"
        )
    of_records = (claim.plug_in, claim.majority, claim.bound, claim.records)
    parts = [("", *of_records)]
    if isinstance(claim.groups, GroupClaim):
        g = claim.groups
        parts.append((" by group", g.plug_in, g.majority, g.bound, g.groups))
    for which, found, majority, bound, units in parts:
        if bound < majority - _ROUNDING or found < majority - _ROUNDING:
            raise UserError(
                f"the certificate of '{name}' says {100 * min(bound, found):.2f} %{which}, which is"
                f" below the majority of {100 * majority:.2f} %: nothing can be proved below what a"
                f" guess gets{_AGAIN}"
            )
        again = upper_bound(found, max(units, 1), claim.confidence).value
        if abs(again - bound) > _ROUNDING:
            raise UserError(
                f"the certificate of '{name}' was changed: {units:,} units, a plug-in of"
                f" {100 * found:.2f} % and confidence {100 * claim.confidence:g} % give a bound"
                f"{which} of {100 * again:.2f} %, but it says {100 * bound:.2f} %{_AGAIN}"
            )


def codes_of_rows(x: FloatArray, known: Sequence[str]) -> Codes | None:
    """The code number of each released row; None if some row is not a code."""
    place = {digest: i for i, digest in enumerate(known)}
    _, first, member = np.unique(_bytes(x), return_index=True, return_inverse=True)
    named = [place.get(digest, -1) for digest in digests(x[first])]
    codes = np.asarray(named, np.int64)[member.reshape(-1)]
    return None if (codes < 0).any() else codes


def codes_by_number(x: FloatArray, codes: int) -> Codes | None:
    """The code numbers of a release --as index (one column of integers below `codes`), or None."""
    if x.shape[1] != 1 or not np.isfinite(x).all():
        return None
    numbers: Codes = x[:, 0].astype(np.int64)
    whole = bool((x[:, 0] == numbers).all())
    inside = int(numbers.min(initial=0)) >= 0 and int(numbers.max(initial=0)) < codes
    return numbers if whole and inside else None


def recount(codes: Codes, attribute: Attribute, split: Split | None, *, of: int) -> Counted:
    """Count the classes of the released rows by code; `of` is the number of codes."""
    records, rates = [], []
    nothing = np.zeros(len(codes), bool)
    for mask in (~nothing, nothing if split is None else split.test):
        tally = Tally(len(attribute.classes), of)
        tally.add(codes[mask], attribute.codes[mask])
        n = int(tally.table.sum())
        records.append(n)
        rates.append(plug_in(tally.table, n) if n else 0.0)
    return Counted(records[0], rates[0], records[1], rates[1])


def not_below(name: str, claim: AttributeClaim, counted: Counted) -> None:
    """Refuse a bound that the rows of this release exceed.

    The plug-in estimate of few rows exceeds the truth by chance. So only a count of at least as
    many rows as the certificate counted can contradict it.
    """
    for which, n, found in (
        ("all released rows", counted.records, counted.all_rows),
        ("the released rows of the test part", counted.test_records, counted.test),
    ):
        if n >= claim.records and found > claim.bound + _ROUNDING:
            raise UserError(
                f"the certificate says that no attacker reads '{name}' from more than"
                f" {100 * claim.bound:.2f} % of records, but a table of codes reads"
                f" {100 * found:.2f} % of {which}: it is false or belongs to another"
                f" release{_AGAIN}"
            )


def _bytes(x: FloatArray) -> npt.NDArray[np.void]:
    rows = np.ascontiguousarray(x + np.float32(0), "<f4")
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(-1)
