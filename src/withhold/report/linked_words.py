"""What attackers read from several rows of one person, in words for page, terminal and card."""

from __future__ import annotations

from typing import NamedTuple

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.evidence import Evidence
from withhold.audit.findings import Linked

AMONG = "one {} among the others of its person"
NUMBER = "how many {}s they have"


class LinkedLine(NamedTuple):
    """What attackers see of a person, what they read, who they are; `together`: a set of rows."""

    seen: str
    found: Linked
    who: str
    together: bool


def linked_lines(a: AttributeEvidence, *, unit: str = "record") -> list[LinkedLine]:
    """Sets of records by their size, a record among those of its person, the number of records."""
    sets = sorted(a.linked.values(), key=lambda one: one.records)
    lines = [LinkedLine(f"{s.records} {unit}s", s, _on_sets(s), together=True) for s in sets]
    own = "models trained on other people"
    for seen, found in ((AMONG, a.linked_row), (NUMBER, a.linked_number)):
        if found is not None:
            lines.append(LinkedLine(seen.format(unit), found, own, together=False))
    return lines


def most_linked(name: str, a: AttributeEvidence | None) -> list[LinkedLine]:
    """The set of rows of one person that tells most, and the other lines; none without people."""
    if a is None or a.linked_by in (None, name):
        return []
    most = max(a.linked.values(), key=lambda one: one.accuracy - one.floor, default=None)
    lines = linked_lines(a, unit="row")
    return [line for line in lines if not line.together or line.found is most]


def not_linked_lines(evidence: Evidence) -> list[str]:
    """Suppressed attributes for which records of one person were not read together, and why."""
    return [f"{name}: {a.not_linked}" for name, a in evidence.suppressed.items() if a.not_linked]


def told_but_not_attacked(evidence: Evidence) -> str:
    """Why no attack covers what receivers see of whole people; empty if one does.

    Receivers may tell whose a row is, and the records of one person were not read together.
    """
    for name, a in evidence.suppressed.items():
        by = None if a.with_original is None else a.with_original.linked_by
        if a.not_linked and a.units != "record" and by is not None:
            return (
                f"receivers may tell whose a row is by {by}, and records of one {a.units} were not"
                f" attacked together for {name} ({a.not_linked})."
            )
    return ""


def _on_sets(one: Linked) -> str:
    """Which attackers were tried on several rows of one person."""
    if one.learned:
        return "the best of adding up what each row tells and of models trained on whole people"
    return (
        "by adding up what each row tells; whoever learns how rows of one person go together may"
        " read more"
    )
