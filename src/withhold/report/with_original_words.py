"""The tier `with_original` in words, for the page, the terminal and the data card."""

from __future__ import annotations

from withhold.audit.evidence import Evidence
from withhold.audit.findings import WithOriginal


def with_original_lines(evidence: Evidence) -> list[str]:
    """One line for every suppressed attribute that was measured."""
    return [
        f"{name}: {with_original_words(a.with_original)}"
        for name, a in evidence.suppressed.items()
        if a.with_original is not None
    ]


def with_original_words(found: WithOriginal) -> str:
    """Who this attacker is, the two figures in whole percents, and whether they count.

    Whole percents, because the same words leave with a release: see `audit.handed_over`.
    """
    return (
        "if somebody can tell whose row is whose and knows that person's other columns:"
        f" {_percent(found.alone)} from those columns alone, {_percent(found.accuracy)} together"
        f" with the released row ({_gain(found)}). {_counts(found)}"
    )


def _gain(found: WithOriginal) -> str:
    if not found.sure:
        return "no more than chance explains"
    low, high = (round(100 * end) for end in found.gain_ci)
    return f"the release adds {round(100 * found.gain)} points, range {low} to {high}"


def _counts(found: WithOriginal) -> str:
    if found.linked_by is not None:
        return f"Receivers may tell whose a row is by {found.linked_by}, so this counts"
    return "Nothing in the release shows whose a row is, so this does not count in the verdict"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
