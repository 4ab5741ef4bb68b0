"""report.html: one self-contained file; every name is escaped, nothing is fetched, nothing runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from withhold.core.atomic import write_bytes

if TYPE_CHECKING:
    from jinja2 import Environment

    from withhold.audit.evidence import Evidence


def write_report(evidence: Evidence, path: str | Path, *, title: str = "Audit") -> None:
    """Render the evidence to one HTML file, atomically."""
    write_bytes(Path(path), render(evidence, title=title).encode())


def render(evidence: Evidence, *, title: str = "Audit") -> str:
    """The page as text: the verdict on the first screen, the evidence below it."""
    from withhold.report import feasibility_section, wording
    from withhold.report.alarms import alarms
    from withhold.report.attacked_columns import attacked
    from withhold.report.cards import cards
    from withhold.report.certificate_section import proved
    from withhold.report.charts.histogram import histogram
    from withhold.report.headline import headline
    from withhold.report.maps import map_view

    shown = cards(evidence)
    moved = evidence.distortion
    return (
        _environment()
        .get_template("report.html")
        .render(
            title=title,
            evidence=evidence,
            alone=evidence.release is None,
            headline=headline(evidence),
            alarms=alarms(evidence),
            attacked=attacked(evidence),
            assumptions=wording.assumptions(evidence),
            cards=shown,
            suppressed=[c for c in shown if c.found.role == "suppress"],
            kept=[c for c in shown if c.found.role != "suppress"],
            proved=proved([(c.index, c.name, c.found) for c in shown]),
            shared=feasibility_section.rows(evidence),
            histogram=histogram(moved.edges, moved.counts, mean=moved.mean, title="Distances")
            if moved is not None and moved.counts
            else None,
            map=map_view(evidence, shown),
            settings=list(_flat(evidence.settings)),
        )
    )


def _environment() -> Environment:
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
        number_format.bits,
        number_format.seconds,
        number_format.count,
        number_format.counted,
    ):
        environment.filters[write.__name__] = write
    return environment


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Settings as lines: what is inside a mapping gets the names before it."""
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            yield f"{prefix}{name}", ", ".join(map(str, value)) or "none"
        else:
            yield f"{prefix}{name}", str(value)
