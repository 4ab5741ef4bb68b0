"""A comparison in words: the headline, and what its columns mean."""

from __future__ import annotations

from withhold.audit.comparison import ComparedRow, Comparison, RunLeak
from withhold.report.number_format import at_most_percent, percent


def headline(found: Comparison) -> str:
    """One sentence: which row to take, or that none will do."""
    best = found.best
    if best is None:
        if found.budget is not None:
            return "No method that was tried meets the budget."
        return "No method that was tried is proved to stay within one point of the floor."
    kept = percent(found.kept(best))
    return (
        f"Best within the limits: {best.label}. It keeps {kept} of what the other attributes say."
    )


def leak_sentences(found: Comparison, row: ComparedRow) -> list[str]:
    """What can be read of each suppressed attribute from the release of a row."""
    return [leak_sentence(name, row.leak(name), found.confidence) for name in found.suppress]


def leak_sentence(name: str, leak: RunLeak, confidence: float) -> str:
    """What can be read of one attribute, and how that is known."""
    floor = percent(leak.floor)
    measured = f"The best retrained attacker names {name} right in {percent(leak.accuracy)}"
    if leak.proved is None or leak.proved_floor is None:
        upper = percent(leak.ci[1])
        return f"{measured} (95 % interval up to {upper}; guessing: {floor}). Nothing is proved."
    proved, guess = at_most_percent(leak.proved), percent(leak.proved_floor)
    if leak.proof == "these records":
        return (
            f"Proved: nobody who does not know the random draws names {name} of one released record"
            f" right more often than in {proved} (guessing: {guess})."
        )
    sure = f"{100 * confidence:.4g} %"
    return (
        f"Proved with {sure} confidence: nobody names {name} of one later record right more often"
        f" than in {proved} (guessing: {guess})."
    )


def legend(found: Comparison) -> list[str]:
    """What the figures mean, for readers who did not run the command."""
    few, many = found.attackers.values()
    lines = [
        "attack: accuracy of the best attacker that was retrained on the release, on"
        f" {found.test_records:,} test records; the interval is 95 %. floor: the accuracy of"
        " guessing without the release.",
        "proved: no attacker with one record is right more often. For exact this is computed for"
        " the records that leave, and holds for everybody who does not know the random draws; for"
        " codebook and pass it is a bound for later records, with"
        f" {100 * found.confidence:.4g} % confidence.",
        "kept: what readers retrained on the release gain over guessing, as a share of what they"
        " gain on the original, averaged over"
        f" {len(found.readable)} attributes that the original reveals.",
        "exact is fitted on all records, the test part included, because it is for given records:"
        " the records that leave. All other methods never see the test part.",
        f"Attackers and readers: {', '.join(few)}; for more than 20 classes {', '.join(many)}."
        " A full audit uses more: run withhold audit on the release that you choose.",
    ]
    if found.kind == "table":
        lines.append(
            "Methods other than exact change an encoding of the table and are judged on it; exact"
            " releases a table. The encoding is computed from all rows, without the suppressed"
            " columns."
        )
    else:
        lines.append("Only the features are judged, not columns that leave beside them.")
    if len(found.seeds) > 1:
        lines.append(
            f"Figures are means over up to {len(found.seeds)} seeds; proved figures are the largest"
            " and intervals the widest of them."
        )
    if found.tuned is not None:
        lines.append(
            "The settings were chosen with the test records, so measured figures of the best row"
            " are somewhat too good. Proved figures are corrected for the number of trials."
        )
    return lines


def limits_text(found: Comparison) -> str:
    """The limits that a row must meet."""
    named = "; ".join(limit.text for limit in found.limits)
    return named if found.budget is not None else f"{named}, proved"
