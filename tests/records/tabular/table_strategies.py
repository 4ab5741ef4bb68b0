"""Hypothesis strategies: tables of every supported kind of column."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

_DAYS = st.dates(date(1900, 1, 1), date(2100, 1, 1))
_TIMES = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))
_WORDS = st.sampled_from(["", "a", "b", "Ü", "long word", "z"])
KINDS: dict[str, tuple[st.SearchStrategy[Any], pa.DataType]] = {
    "int8": (st.integers(-128, 127), pa.int8()),
    "int64": (st.integers(-(2**63), 2**63 - 1), pa.int64()),
    "uint64": (st.integers(0, 2**64 - 1), pa.uint64()),
    "small": (st.integers(0, 3), pa.int32()),
    "float64": (st.floats(allow_infinity=False), pa.float64()),
    "float32": (st.floats(allow_infinity=False, width=32), pa.float32()),
    "cents": (st.integers(-1000, 1000).map(lambda i: i / 100), pa.float64()),
    "zeros": (st.sampled_from([0.0, 0.0, 0.0, 1e9]), pa.float64()),
    "decimal": (st.decimals(-999, 999, places=2), pa.decimal128(8, 2)),
    "boolean": (st.booleans(), pa.bool_()),
    "text": (_WORDS, pa.string()),
    "large text": (_WORDS, pa.large_string()),
    "view": (_WORDS, pa.string_view()),
    "dictionary": (_WORDS, pa.dictionary(pa.int8(), pa.string(), ordered=True)),
    "numbered": (st.integers(0, 5), pa.dictionary(pa.int16(), pa.int64())),
    "date32": (_DAYS, pa.date32()),
    "date64": (_DAYS, pa.date64()),
    "seconds": (_TIMES.map(lambda t: t.replace(microsecond=0)), pa.timestamp("s")),
    "nanoseconds": (_TIMES, pa.timestamp("ns", "UTC")),
    "time": (st.times().map(lambda t: t.replace(microsecond=0)), pa.time32("s")),
    "duration": (st.timedeltas(timedelta(-9999), timedelta(9999)), pa.duration("us")),
    "text dates": (_DAYS.map(lambda d: d.isoformat()), pa.string()),
    "null": (st.none(), pa.null()),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """1 to 40 rows, 1 to 5 columns, missing values anywhere."""
    rows = draw(st.integers(1, 40))
    columns = {}
    for i, kind in enumerate(
        draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=5))
    ):
        values, arrow = KINDS[kind]
        pool = draw(st.lists(values, min_size=1, max_size=12))
        cell = st.sampled_from([*pool, None]) if draw(st.booleans()) else st.sampled_from(pool)
        column = draw(st.lists(cell, min_size=rows, max_size=rows))
        columns[f"{kind} {i}"] = pa.array(column, arrow)
    return pa.table(columns)
