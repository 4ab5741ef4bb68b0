"""What is known of one column of a table, as plain values that JSON can hold."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import pyarrow as pa

Kind = Literal["number", "integer", "boolean", "category", "date", "vector", "constant"]
Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column that can be encoded and made again.

    Columns with `values` are handled value by value. All others are numbers: `low`, `high` and
    `step` are in the unit in which Arrow stores the column (a date32 in days, for example). Dates
    in text have a `layout` and are numbers in seconds since 1970. A column without any value has
    neither `values` nor `low`. Vectors (fixed-size lists of numbers) have none of these.
    """

    name: str
    kind: Kind
    type: pa.DataType
    values: tuple[Value, ...] | None = None  # in order, without missing
    low: int | float | None = None
    high: int | float | None = None
    step: int | float | None = None  # the values are low + i * step; None: any number between
    missing: float = 0.0  # share of the records
    rare: tuple[Value, ...] = ()  # the values that fewer than `least` records hold
    layout: str | None = None  # how dates are written in a text column

    @property
    def is_empty(self) -> bool:
        """Whether no record has a value."""
        return self.values is None and self.low is None and self.kind != "vector"

    def to_json(self) -> dict[str, Any]:
        """Plain values; the Arrow type as base64 of its IPC schema message."""
        kind = pa.schema([pa.field("x", self.type)]).serialize().to_pybytes()
        return {
            "name": self.name,
            "kind": self.kind,
            "type": base64.b64encode(kind).decode(),
            "values": None if self.values is None else list(self.values),
            "low": self.low,
            "high": self.high,
            "step": self.step,
            "missing": self.missing,
            "rare": list(self.rare),
            "layout": self.layout,
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> TableColumn:
        """The column that `to_json` wrote."""
        message = pa.py_buffer(base64.b64decode(told["type"]))
        return cls(
            name=str(told["name"]),
            kind=cast(Kind, told["kind"]),
            type=pa.ipc.read_schema(message).field(0).type,
            values=None if told["values"] is None else tuple(told["values"]),
            low=told["low"],
            high=told["high"],
            step=told["step"],
            missing=float(told["missing"]),
            rare=tuple(told["rare"]),
            layout=told["layout"],
        )


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table that can be encoded, and why the others cannot."""

    columns: tuple[TableColumn, ...]
    dropped: dict[str, str]  # {column: reason}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that can be encoded, in the order of the table."""
        return tuple(c.name for c in self.columns)
