"""Text columns that hold ISO dates: recognise, parse, and write in the same layout."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Unit = Literal["D", "m", "s"]
_DAY, _MINUTE = r"\d{4}-\d{2}-\d{2}", r"\d{2}:\d{2}"
# layout -> (pattern, numpy unit, separator, ending)
_LAYOUTS: dict[str, tuple[str, Unit, str, str]] = {
    "YYYY-MM-DD": (_DAY, "D", "", ""),
    "YYYY-MM-DD HH:MM": (f"{_DAY} {_MINUTE}", "m", " ", ""),
    "YYYY-MM-DDTHH:MM": (f"{_DAY}T{_MINUTE}", "m", "T", ""),
    "YYYY-MM-DD HH:MM:SS": (rf"{_DAY} {_MINUTE}:\d{{2}}", "s", " ", ""),
    "YYYY-MM-DDTHH:MM:SS": (rf"{_DAY}T{_MINUTE}:\d{{2}}", "s", "T", ""),
    "YYYY-MM-DDTHH:MM:SSZ": (rf"{_DAY}T{_MINUTE}:\d{{2}}Z", "s", "T", "Z"),
}
_SECONDS = {"D": 86_400, "m": 60, "s": 1}


def date_layout(values: pa.Array, counts: npt.NDArray[np.int64]) -> tuple[str, float]:
    """The most frequent layout among distinct values, and the share of records in any layout."""
    records = {
        layout: int(counts[_matches(values, pattern)].sum())
        for layout, (pattern, *_) in _LAYOUTS.items()
    }
    best = max(records, key=lambda layout: records[layout])
    return best, sum(records.values()) / max(int(counts.sum()), 1)


def layout_step(layout: str) -> int:
    """The seconds between two dates that the layout can tell apart."""
    return _SECONDS[_LAYOUTS[layout][1]]


def parse_dates(values: pa.Array) -> pa.Array:
    """Seconds since 1970, int64; null for null and for text that is not an ISO date."""
    pattern = "|".join(pattern for pattern, *_ in _LAYOUTS.values())
    fits = pa.array(_matches(values, f"(?:{pattern})"))
    plain = pc.if_else(fits, pc.replace_substring_regex(values, "Z$", ""), pa.scalar(None))
    plain = plain.cast(pa.string())
    try:
        parsed = plain.cast(pa.timestamp("s"))
    except pa.ArrowInvalid:  # a day that does not exist, such as 2021-02-30
        parsed = pa.array([v if _exists(v) else None for v in plain.to_pylist()], pa.string())
        parsed = parsed.cast(pa.timestamp("s"))
    return parsed.cast(pa.int64())


def write_dates(seconds: npt.NDArray[np.int64], layout: str) -> npt.NDArray[np.str_]:
    """Dates as text in that layout. seconds: (n,) since 1970."""
    _, unit, separator, ending = _LAYOUTS[layout]
    days: npt.NDArray[np.datetime64] = seconds.astype("datetime64[s]")
    text = np.datetime_as_string(days, unit=unit, casting="unsafe")
    if separator == " ":
        text = np.strings.replace(text, "T", " ")
    return np.strings.add(text, ending) if ending else text


def _matches(values: pa.Array, pattern: str) -> npt.NDArray[np.bool_]:
    found = pc.match_substring_regex(values, f"^{pattern}$").fill_null(False)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def _exists(text: str | None) -> bool:
    try:
        return text is not None and datetime.fromisoformat(text) is not None
    except ValueError:
        return False
