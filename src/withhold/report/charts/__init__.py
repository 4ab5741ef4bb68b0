"""Drawings of the report: inline SVG, one chart a file, every text escaped, colours by class."""

from withhold.report.charts.bars import Bar, bars
from withhold.report.charts.bound_chart import limit
from withhold.report.charts.curve import Point, curve
from withhold.report.charts.histogram import histogram
from withhold.report.charts.meter import meter
from withhold.report.charts.scatter import Colouring, colouring, scatter
from withhold.report.charts.strip import strip

__all__ = [
    "Bar",
    "Colouring",
    "Point",
    "bars",
    "colouring",
    "curve",
    "histogram",
    "limit",
    "meter",
    "scatter",
    "strip",
]
