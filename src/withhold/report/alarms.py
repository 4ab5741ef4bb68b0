"""Reasons not to release something that need no knowledge of attackers to understand."""

from __future__ import annotations

from markupsafe import Markup

from withhold.audit.evidence import Evidence
from withhold.report import wording


def alarms(evidence: Evidence) -> list[Markup]:
    """Reasons not to release this that need no knowledge of attackers to understand."""
    said = []
    for column, name in copies_of(evidence):
        start = (
            Markup("The column {} is still in the file.").format(wording.bold(name))
            if column == name
            else Markup("The column {} says the same as {}: each value stands for one {}.").format(
                wording.bold(column), wording.bold(name), name
            )
        )
        said.append(
            Markup(
                "{} Anyone who opens the file can read it; no attack is needed. Remove the column"
                " and make the release again."
            ).format(start)
        )
    for part, one in evidence.copies.items():
        if one.found:
            said.append(
                Markup(
                    "{} of the {:,} {} records that were checked are in the release unchanged, or"
                    " nearly so. They still reveal what they revealed before."
                ).format(wording.bold(f"{one.copies:,}"), one.records, part)
            )
    return said


def copies_of(evidence: Evidence) -> list[tuple[str, str]]:
    """Columns of the release that are a suppressed attribute, or a copy of one."""
    return [
        (column.name, name)
        for column in evidence.columns
        for name, read in column.tells.items()
        if read.copy_of
    ]
