"""Figures of a certificate about whole people that follow from labels and people alone.

Who drew, and what the numbers of rows tell, needs neither plan nor key. So it is counted again: a
certificate that names other people or draws, or a higher floor, was changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from withhold.audit.recount import Codes
from withhold.certificate.claims import PersonClaim
from withhold.certificate.given_release import preserved_names
from withhold.certificate.whole_person import People, UnitLabels, unit_picks
from withhold.core.errors import UserError
from withhold.records.attribute import Attribute

_SUMS = 1e-6


def check_people(
    person: PersonClaim, attribute: Attribute, people: Codes, told: Sequence[Attribute]
) -> None:
    """Raise `UserError` if people (n,), labels and preserved labels give other counts or floors.

    The attribute must be the only one that is suppressed: otherwise people drew more often.
    """
    known = np.flatnonzero(attribute.codes >= 0)
    names = np.asarray(preserved_names(list(told), len(people)), dtype=object).astype(str)
    values, value = np.unique(names, return_inverse=True)
    pairs = np.stack([people, attribute.codes, value.reshape(-1)])[:, known]
    found, rows = np.unique(pairs, axis=1, return_counts=True)
    if not len(rows):
        return
    counts = {
        "people": (person.people, len(np.unique(found[0]))),
        "draws of people": (person.draws, len(rows)),
    }
    for what, (stated, counted) in counts.items():
        if stated != counted:
            raise _changed(attribute.name, f"{stated:,} {what}", f"{counted:,}")
    units = UnitLabels(
        unit=np.arange(len(rows)),
        label=found[1],
        told=[str(values[v]) for v in found[2]],
        rows=rows.astype(np.int64),
        size=rows.astype(np.int64),
    )
    nothing = np.ones((len(rows), 1))  # one code for everybody
    _same_floor(
        attribute.name, person.unit_floor, [floor for floor, _ in unit_picks(nothing, units)]
    )
    whose = np.unique(found[0], return_inverse=True)[1].reshape(-1)
    whole = People.of(units, whose)
    if isinstance(whole, People) and person.floor is not None:
        _same_floor(attribute.name, person.floor, [floor for floor, _ in whole.picks(nothing)])


def _same_floor(name: str, stated: float, floors: list[float]) -> None:
    if min(abs(stated - floor) for floor in floors) > _SUMS:
        shown = " or ".join(f"{100 * floor:.2f} %" for floor in dict.fromkeys(floors))
        raise _changed(name, f"{100 * stated:.2f} % from numbers of rows", shown)


def _changed(name: str, stated: str, counted: str) -> UserError:
    return UserError(
        f"the certificate of this release says {stated} of '{name}', but the labels given here say"
        f" {counted}: it was changed, or belongs to other records; make the release again"
    )
