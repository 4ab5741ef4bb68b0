"""The pandas types of a frame, given back to its release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def types_of(frame: Any) -> dict[str, Any]:
    """{column: pandas type} of a pandas frame; nothing for other data."""
    if type(frame).__module__.partition(".")[0] != "pandas" or not hasattr(frame, "columns"):
        return {}
    return {str(name): kind for name, kind in frame.dtypes.items()}


def with_types(frame: pd.DataFrame, types: Mapping[str, Any]) -> pd.DataFrame:
    """The frame with these types where they hold its values: Int64, boolean, string, category.

    Arrow has no nullable integers of its own, and a release has plain values. A category keeps its
    order, but lists only values that a row of the release has: others could name people.
    """
    for name in frame.columns:
        kind = types.get(name)
        if kind is None or kind == frame[name].dtype:
            continue
        try:
            if hasattr(kind, "categories"):
                frame[name] = _categories(frame[name], kind)
            else:
                frame[name] = frame[name].astype(kind)
        except (TypeError, ValueError):
            continue  # values of another type, e.g. of a column that was missing everywhere
    return frame


def _categories(column: pd.Series[Any], kind: Any) -> pd.Series[Any]:
    there = set(column.dropna().unique())
    listed = [value for value in kind.categories if value in there]
    if len(listed) < len(there):  # ranges of pd.cut are released as text
        listed = [text for text in map(str, kind.categories) if text in there]
    return column.astype(type(kind)(listed, ordered=kind.ordered))
