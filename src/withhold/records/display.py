"""A dataset in one line, and as a small table in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from withhold.core.errors import listing

if TYPE_CHECKING:
    from withhold.records.dataset import Dataset

_RECORDS, _FEATURES, _COLUMNS, _SIGNS = 5, 3, 8, 40


def summary(data: Dataset) -> str:
    """`ReleasedDataset(release.parquet: 400 records, 8 features; attributes: digit, room)`."""
    parts = data.parts
    told = [f"attributes: {listing(data.attribute_names)}"]
    told += [] if data.group is None else [f"group: {data.group}"]
    if parts is not None:
        counts = ((part, int((parts == part).sum())) for part in ("train", "val", "test"))
        told.append("split: " + ", ".join(f"{part} {n:,}" for part, n in counts if n))
    size = f"{_count(len(data), 'record')}, {_count(data.dimension, 'feature')}"
    if data.kind != "features":
        size = _count(len(data), "row" if data.kind == "table" else data.kind)
    return f"{type(data).__name__}({data.name}: {size}; {'; '.join(told)})"


def html(data: Dataset) -> str:
    """The summary and the first records; every name and value is escaped."""
    features = list(data.layout.names[:_FEATURES])
    columns = [f.name for f in data.schema if f.name not in data.layout.columns][:_COLUMNS]
    more_features = data.dimension - len(features)
    more_columns = len(data.schema) - len(data.layout.columns) - len(columns)
    head = [*features, *_more(more_features), *columns, *_more(more_columns)]
    shown = data.table.slice(0, _RECORDS).to_pylist()
    body = [
        [
            *(f"{v:.4g}" for v in x[: len(features)]),
            *("…" for _ in _more(more_features)),
            *(_cell(row[c]) for c in columns),
            *("…" for _ in _more(more_columns)),
        ]
        for x, row in zip(data.x[:_RECORDS], shown, strict=True)
    ]
    below = (
        f"<p>… {_count(len(data) - len(body), 'more record')}</p>" if len(data) > len(body) else ""
    )
    rows = "".join(f"<tr>{_cells('td', row)}</tr>" for row in body)
    return (
        f"<div><p>{escape(summary(data))}</p><table><thead><tr>{_cells('th', head)}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{below}</div>"
    )


def _cells(tag: str, texts: list[str]) -> str:
    return "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)


def _cell(value: Any) -> str:
    text = "" if value is None else str(value[:_SIGNS] if isinstance(value, bytes) else value)
    return text if len(text) <= _SIGNS else f"{text[: _SIGNS - 1]}…"


def _more(count: int) -> list[str]:
    return [f"… {count:,} more"] if count > 0 else []


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
