"""What the page shows of a finished job, made by the worker, which has the actions at hand."""

from __future__ import annotations

from typing import Any

from withhold.audit.comparison import Comparison
from withhold.audit.evidence import Evidence
from withhold.methods.features.codebook.budget import Limit
from withhold.release.release_files import Written
from withhold.report.alarms import alarms
from withhold.report.compare_page import charts, table_rows
from withhold.report.compare_wording import headline as compare_headline
from withhold.report.compare_wording import leak_sentences
from withhold.report.headline import headline, proved

POINTS = (0.1, 0.2, 0.5, 1, 2, 3, 5, 8, 12, 20, 30, 50)  # budgets of the slider, above the floor


def leaving(written: Written) -> dict[str, Any]:
    """What leaves, and the warning if it may show whose a row is."""
    decision = written.decision
    return {
        "records": written.records,
        "columns": written.columns,
        "left_out_because": decision.left_out,
        "kept_by_name": decision.kept_by_name,
        "whose_row": decision.whose_row(same_order=written.same_order),
    }


def audit_words(evidence: Evidence) -> dict[str, Any]:
    """The headline of the report as plain text, and what was read of every attribute."""
    said = headline(evidence)
    return {
        "says": said.says.striptags(),
        "tone": said.tone,
        # Of every hidden attribute: the headline leaves out the proof where an alarm comes first.
        "proofs": [
            [name, text.striptags()]
            for name, a in evidence.suppressed.items()
            if (text := proved(a)) is not None
        ],
        "terms": [[name, text.striptags()] for name, text in said.terms],
        "alarms": [one.striptags() for one in alarms(evidence)],
        "attributes": {
            name: {
                "role": a.role,
                "before": a.original.accuracy,
                "after": a.informed.accuracy,
                "guessing": a.floor if a.role == "suppress" else a.majority,
            }
            for name, a in evidence.attributes.items()
        },
    }


def budgets(found: Comparison) -> list[dict[str, Any]]:
    """The comparison for every budget of the slider: the best row, those within it, a chart."""
    made = []
    for points in POINTS:
        limits = tuple(
            Limit(name, f"{name}<=floor+{points:g}", points / 100, above_floor=True)
            for name in found.suppress
        )
        text = "; ".join(limit.text for limit in limits)
        one = found.model_copy(update={"budget": text, "limits": limits})
        best = one.best
        rows = table_rows(one)
        made.append(
            {
                "points": points,
                "headline": compare_headline(one),
                "sentences": [] if best is None else leak_sentences(one, best),
                "charts": [[name, str(chart)] for name, chart in charts(one, rows)],
                "rows": [
                    {
                        "number": row.number,
                        "label": row.row.label,
                        "attack": [leak.accuracy for leak in row.leaks],
                        "proved": [leak.proved for leak in row.leaks],
                        "kept": row.kept,
                        "best": row.best,
                        "within": row.within,
                    }
                    for row in rows
                ],
            }
        )
    return made
