"""Templates and static files of the page."""

from __future__ import annotations

import time
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from withhold.server.problems import missing

# The report and the page share their colours and charts.
_STATIC = {
    "report.css": ("withhold.report", "templates/report.css", "text/css"),
    "charts.css": ("withhold.report", "templates/charts.css", "text/css"),
    "compare.css": ("withhold.report", "templates/compare.css", "text/css"),
    "page.css": ("withhold.server.page", "static/page.css", "text/css"),
    "page.js": ("withhold.server.page", "static/page.js", "text/javascript"),
    "icon.svg": ("withhold.server.page", "static/icon.svg", "image/svg+xml"),
}


def page(template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """One page; every name in it is escaped."""
    return HTMLResponse(_environment().get_template(template).render(**values), status)


def static(name: str) -> Response:
    """A static file, by its name in the list."""
    if name not in _STATIC:
        raise missing("file")
    package, path, kind = _STATIC[name]
    content = files(package).joinpath(path).read_bytes()
    return Response(content, media_type=kind, headers={"cache-control": "max-age=300"})


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("withhold.server.page", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (percent, size, clock, ago, breakable)
    environment.filters |= {each.__name__: each for each in filters}
    return environment


def percent(share: float | None) -> str:
    """`88.2 %`.

    >>> percent(0.5), percent(None)
    ('50.0 %', '–')
    """
    return "–" if share is None else f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def breakable(name: str) -> Markup:
    """A name that may be broken after an underscore, so that narrow tables stay readable."""
    return Markup("_<wbr>").join(escape(part) for part in name.split("_"))


def size(count: int) -> str:
    """`3.4 KB`."""
    value, unit = float(count), "B"
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def clock(seconds: float | None) -> str:
    """`1 min 15 s`."""
    if seconds is None:
        return ""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"


def ago(moment: float) -> str:
    """`5 min ago`."""
    seconds = time.time() - moment
    if seconds < 60:
        return "just now"
    for length, name in ((86_400, "day"), (3600, "h"), (60, "min")):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {name}{'s' if name == 'day' and count > 1 else ''} ago"
    return ""
