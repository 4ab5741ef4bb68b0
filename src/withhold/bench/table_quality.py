"""SDMetrics' scores of a released table: its column shapes and its column pair trends."""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa

from withhold.bench.rivals import missing


def table_quality(original: pa.Table, released: pa.Table) -> tuple[float, float]:
    """Mean similarity of single columns and of pairs of columns, 0..1; both have these columns.

    1 is a release that cannot be told from the original by its columns and pairs. Numbers are
    compared by their distribution (Kolmogorov-Smirnov) and correlation, categories by shares and
    contingency tables.
    """
    try:
        from sdmetrics.reports.single_table import QualityReport
    except ImportError as error:
        raise missing("sdmetrics", "the quality of a table", extra="rivals") from error
    columns = {name: {"sdtype": _kind(original[name].type)} for name in original.column_names}
    report: Any = QualityReport()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns have no correlation
        before, after = (t.select(original.column_names).to_pandas() for t in (original, released))
        report.generate(before, after, {"columns": columns}, verbose=False)
    scores = report.get_properties().set_index("Property")["Score"]
    return float(scores["Column Shapes"]), float(scores["Column Pair Trends"])


def _kind(type_: pa.DataType) -> str:
    if pa.types.is_boolean(type_):
        return "boolean"
    number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
    return "numerical" if number else "categorical"
