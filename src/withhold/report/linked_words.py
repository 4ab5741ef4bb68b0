"""What attackers read from several rows of one person, in words for page, terminal and card."""

from __future__ import annotations

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.evidence import Evidence
from withhold.audit.findings import Linked
from withhold.report.number_format import counted

AMONG = "one {} among the others of its person"
NUMBER = "how many {}s they have"


def linked_lines(a: AttributeEvidence, *, unit: str = "record") -> list[tuple[str, Linked]]:
    """What was seen of a person, in words, and what it told: sets by size, then the others."""
    sets = sorted(a.linked.values(), key=lambda one: one.records)
    lines = [(counted(one.records, unit), one) for one in sets]
    others = ((AMONG, a.linked_row), (NUMBER, a.linked_number))
    return lines + [(words.format(unit), one) for words, one in others if one is not None]


def most_linked(name: str, a: AttributeEvidence | None) -> list[tuple[str, Linked]]:
    """The number of rows of one person that tells most, then the others, if a column names people.

    Each with what was seen: `5 rows`, `how many rows they have`.
    """
    if a is None or a.linked_by in (None, name):
        return []
    most = max(a.linked.values(), key=lambda one: one.accuracy - one.floor, default=None)
    lines = linked_lines(a, unit="row")
    return [(words, one) for words, one in lines if one is most or one not in a.linked.values()]


def not_linked_lines(evidence: Evidence) -> list[str]:
    """Suppressed attributes for which records of one person were not read together, and why."""
    return [f"{name}: {a.not_linked}" for name, a in evidence.suppressed.items() if a.not_linked]


def who_linked(one: Linked) -> str:
    """Which attackers were tried on several rows of one person."""
    if one.learned:
        return "the best of adding up what each row tells and of models trained on whole people"
    return (
        "by adding up what each row tells; whoever learns how rows of one person go together may"
        " read more"
    )
