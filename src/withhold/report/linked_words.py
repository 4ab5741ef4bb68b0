"""What attackers read from several rows of one person, in words for the terminal and the card."""

from __future__ import annotations

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.findings import Linked


def most_linked(name: str, a: AttributeEvidence | None) -> Linked | None:
    """The number of rows of one person that tells most, if a column names people."""
    if a is None or a.linked_by in (None, name):
        return None
    return max(a.linked.values(), key=lambda one: one.accuracy - one.floor, default=None)


def who_linked(one: Linked) -> str:
    """Which attackers were tried on several rows of one person."""
    if one.learned:
        return "the best of adding up what each row tells and of models trained on whole people"
    return (
        "by adding up what each row tells; whoever learns how rows of one person go together may"
        " read more"
    )
