"""report.html: one self-contained file; every name is escaped, nothing is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from withhold.atomic import write_bytes

if TYPE_CHECKING:
    from withhold.audit.evidence import AttributeEvidence, Evidence


def write_report(evidence: Evidence, path: str | Path, *, title: str = "Audit") -> None:
    """Render the evidence to one HTML file, atomically."""
    write_bytes(Path(path), render(evidence, title=title).encode())


def render(evidence: Evidence, *, title: str = "Audit") -> str:
    """The page as text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("withhold.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = lambda v: f"{100 * v:.1f} %"
    rows = [_row(name, a) for name, a in evidence.attributes.items()]
    return environment.get_template("report.html").render(
        title=title,
        evidence=evidence,
        suppressed=[r for r in rows if r["role"] == "suppress"],
        kept=[r for r in rows if r["role"] != "suppress"],
        rows=rows,
    )


def _row(name: str, a: AttributeEvidence) -> dict[str, Any]:
    bars = [("original data", a.original.accuracy, "original")]
    if a.ignorant is not None:
        bars.append(("release, frozen model", a.ignorant.accuracy, "ignorant"))
    bars.append(("release, retrained attacker", a.informed.accuracy, "informed"))
    return {
        "name": name,
        "role": a.role,
        "evidence": a,
        "bars": [{"label": label, "value": v, "kind": kind} for label, v, kind in bars],
        "leaks": a.readable,
        "retrained": a.informed.ci[0] > a.floor,
    }
