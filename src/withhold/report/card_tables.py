"""Rows of the report's tables: attackers of a ladder, figures by tier, slices of the records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.findings import Rung, Slice, Tier
from withhold.audit.intervals import wilson
from withhold.audit.slices import FEWEST
from withhold.report.charts.strip import strip
from withhold.report.number_format import bits, bits_span, percent, span

SHOWN = 12  # rows of a long table that are open
FOLDED = 100  # rows after them that fold out; what is left is in audit.json


@dataclass(frozen=True)
class RungRow:
    """One attacker of a ladder."""

    rung: Rung
    chosen: bool
    strip: Markup


@dataclass(frozen=True)
class Figure:
    """A value with its interval, as text."""

    value: str
    interval: str


@dataclass(frozen=True)
class FigureRow:
    """One kind of figure, under every tier that has it."""

    label: str
    meaning: str
    figures: tuple[Figure | None, ...]


@dataclass(frozen=True)
class SliceRow:
    """The attacker on some of the records."""

    slice: Slice
    strip: Markup


@dataclass(frozen=True)
class Slices:
    """A long table: rows that are open, rows that fold out, and how many are not here."""

    shown: tuple[SliceRow, ...]
    folded: tuple[SliceRow, ...]
    left_out: int
    total: int  # values, those that share a row included


def ladder(rungs: Sequence[Rung], chosen: str, *, floor: float) -> list[RungRow]:
    """The attackers in their order, the chosen one marked."""
    return [
        RungRow(
            rung,
            rung.attacker == chosen and rung.skipped is None,
            Markup("")
            if rung.accuracy is None or rung.ci is None
            else strip(rung.accuracy, rung.ci, floor=floor, chosen=rung.attacker == chosen),
        )
        for rung in rungs
    ]


def figures(a: AttributeEvidence, columns: Sequence[Tier | None]) -> list[FigureRow]:
    """Every figure that some of the tiers in `columns` have."""
    rows = [
        FigureRow(
            "Accuracy",
            "share of records named right",
            tuple(None if t is None else Figure(percent(t.accuracy), span(t.ci)) for t in columns),
        )
    ]
    for field, label, meaning in (
        ("balanced_accuracy", "Balanced accuracy", "every class counts alike"),
        ("top5", "Top 5", "truth among the five likeliest"),
        ("f1", "F1, macro", "precision and recall together"),
        ("auc", "AUC, folded", "50 % is a coin toss"),
        ("cmap", "cMAP", "average precision of the labels"),
    ):
        values = [None if t is None else getattr(t, field) for t in columns]
        if any(value is not None for value in values):
            found = tuple(
                None
                if t is None or value is None
                else Figure(percent(value), span(t.intervals.get(field)))
                for t, value in zip(columns, values, strict=True)
            )
            rows.append(FigureRow(label, meaning, found))
    information = tuple(
        None if t is None else Figure(bits(t.bits), bits_span(t.intervals.get("bits")))
        for t in columns
    )
    rows.append(FigureRow("Bits read", f"of {bits(a.entropy_bits)} bits", information))
    gains = tuple(
        Figure(percent(a.nag), "") if t is a.informed and a.nag is not None else None
        for t in columns
    )
    if a.nag is not None:
        rows.append(FigureRow("NAG", "share of the original's gain over guessing", gains))
    return rows


def slices(found: Sequence[Slice], a: AttributeEvidence) -> Slices:
    """Worst first: where a suppressed attribute is read best, where any other is read worst.

    Sorted by the cautious end of the interval, because the best of many small slices is good by
    chance. Values with few records share one row.
    """
    best_first = a.role == "suppress"
    counted = [s for s in found if s.records and math.isfinite(s.accuracy)]
    ordered = sorted(_rare_together(counted), key=lambda s: -s.ci[0] if best_first else s.ci[1])
    rows = tuple(
        SliceRow(s, strip(s.accuracy, s.ci, floor=a.floor)) for s in ordered[: SHOWN + FOLDED]
    )
    left_out = max(len(ordered) - SHOWN - FOLDED, 0)
    return Slices(rows[:SHOWN], rows[SHOWN:], left_out, total=len(counted))


def _rare_together(found: Sequence[Slice]) -> list[Slice]:
    """The slices, those of one attribute with fewer than `FEWEST` records in one row."""
    out = [s for s in found if s.records >= FEWEST]
    for by in dict.fromkeys(s.by for s in found):
        rare = [s for s in found if s.by == by and s.records < FEWEST]
        if len(rare) < 2:
            out += rare
            continue
        records = sum(s.records for s in rare)
        hits = round(sum(s.records * s.accuracy for s in rare))
        others = "others" if any(s.by == by for s in out) else "values"
        row = {
            "value": f"{len(rare):,} {others}, each with fewer than {FEWEST} records",
            "records": records,
            "accuracy": hits / records,
            "ci": wilson(hits, records),
        }
        out.append(rare[0].model_copy(update=row))
    return out
