"""compare.html: one self-contained page; names are escaped, nothing is fetched, nothing runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from withhold.audit.comparison import ComparedRow, Comparison, RunLeak
from withhold.report.charts.leak_and_kept import RowMark, leak_and_kept
from withhold.report.compare_wording import headline, leak_sentences, legend, limits_text
from withhold.report.number_format import NONE

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class TableRow:
    """One line of the table: a row with a number, and its figures."""

    number: int
    row: ComparedRow
    leaks: tuple[RunLeak, ...]
    kept: float | None
    spread: float | None
    read: tuple[float, ...]
    best: bool
    within: bool


def render_comparison(found: Comparison) -> str:
    """The page as text: the best row and the chart on the first screen, the table below."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from withhold.report import number_format

    environment = Environment(
        loader=PackageLoader("withhold.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for write in (
        number_format.percent,
        number_format.points,
        number_format.at_most_percent,
        number_format.span,
        number_format.seconds,
        number_format.count,
        number_format.counted,
    ):
        environment.filters[write.__name__] = write
    rows = table_rows(found)
    best = found.best
    return environment.get_template("compare.html").render(
        found=found,
        headline=headline(found),
        sentences=[] if best is None else leak_sentences(found, best),
        tone="blind" if best is None else "floor",
        limits=limits_text(found),
        charts=charts(found, rows),
        rows=rows,
        readable=found.readable,
        unread=[name for name in found.readers if name not in found.readable],
        guesses=[found.reference.runs[0].read[name].majority for name in found.readable],
        floors=[found.reference.leak(name).floor for name in found.suppress],
        skipped=[row for row in found.rows if row.skipped],
        legend=legend(found),
        dash=NONE,
    )


def table_rows(found: Comparison) -> list[TableRow]:
    """Every row that was run, numbered as in the chart."""
    best = found.best
    return [
        TableRow(
            number=number,
            row=row,
            leaks=tuple(row.leak(name) for name in found.suppress),
            kept=found.kept(row),
            spread=found.kept_spread(row),
            read=tuple(found.accuracy(row, name) for name in found.readable),
            best=row == best,
            within=found.within(row),
        )
        for number, row in enumerate((row for row in found.rows if row.runs), start=1)
    ]


def charts(found: Comparison, rows: list[TableRow]) -> list[tuple[str, Markup]]:
    """A chart for each suppressed attribute; none if nothing that is left can be read."""
    made = []
    word = "limit" if found.budget is None else "budget"
    for place, name in enumerate(found.suppress):
        marks = [_row_mark(one, one.leaks[place]) for one in rows if one.kept is not None]
        if marks:
            made.append(
                (name, leak_and_kept(marks, name=name, limit=_limit(found, name), word=word))
            )
    return made


def _row_mark(one: TableRow, leak: RunLeak) -> RowMark:
    counts = leak.ci[1] - leak.floor
    if leak.proved is not None and leak.proved_floor is not None:
        counts = leak.proved - leak.proved_floor
    return RowMark(
        number=one.number,
        label=one.row.label,
        leak=max(leak.accuracy - leak.floor, 0.0),
        counts=max(counts, 0.0),
        kept=one.kept or 0.0,
        proved=leak.proved is not None,
        best=one.best,
    )


def _limit(found: Comparison, name: str) -> float | None:
    """The strictest limit on accuracy, above the floor; None if there are only limits in bits."""
    floor = found.reference.leak(name).floor
    able = [limit for limit in found.limits if limit.name == name and not limit.bits]
    return min((limit.most(floor) - floor for limit in able), default=None)
