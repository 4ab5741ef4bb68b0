"""An attribute: a named label column, encoded as small integers with -1 for missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from withhold.core.errors import UserError
from withhold.records.arrow_kinds import is_list, is_number, is_text

Codes = npt.NDArray[np.int64]
Kind = Literal["categorical", "multilabel"]


@dataclass(frozen=True, eq=False)
class Attribute:
    """Labels of every record.

    categorical: codes (n,) in 0..k-1, -1 if missing; classes are the k values as text.
    multilabel: codes (n, k) of 0, 1 or -1; classes are the names of the k binary labels.
    """

    name: str
    kind: Kind
    classes: tuple[str, ...]
    codes: Codes

    @property
    def multilabel(self) -> bool:
        """Whether this is a set of binary labels."""
        return self.kind == "multilabel"

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which records have at least one label, (n,)."""
        known = self.codes >= 0
        return np.asarray(known.any(axis=1)) if self.multilabel else known

    @property
    def missing(self) -> int:
        """How many records have no label."""
        return int((~self.known).sum())

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Records per class, or positives per label, (k,)."""
        if self.multilabel:
            return (self.codes == 1).sum(axis=0)  # type: ignore[no-any-return]
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.classes))

    @property
    def majority(self) -> float:
        """The rate of the commonest class among labelled records (pooled over the labels)."""
        if self.multilabel:
            known = (self.codes >= 0).sum(axis=0)
            common = np.maximum(self.counts, known - self.counts)
            return float(common.sum() / max(int(known.sum()), 1))
        return float(self.counts.max(initial=0) / max(int(self.counts.sum()), 1))

    def rows(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Attribute:
        """The same attribute for some records, with all classes."""
        return Attribute(self.name, self.kind, self.classes, self.codes[rows])

    def require_label(self, where: str) -> None:
        """Refuse an attribute that cannot be learned: no labels, one class, or too many classes."""
        labelled = int(self.known.sum())
        if labelled == 0:
            raise UserError(
                f"attribute '{self.name}' of {where} is null in every record: there is nothing to"
                " infer; name another attribute"
            )
        if self.multilabel:
            both = (self.codes == 0).any(axis=0) & (self.codes == 1).any(axis=0)
            if not both.any():
                raise UserError(
                    f"attribute '{self.name}' of {where} has no label that is 0 in some records"
                    " and 1 in others: there is nothing to infer"
                )
            return
        used = int((self.counts > 0).sum())
        if used < 2:
            only = self.classes[int(self.counts.argmax())]
            raise UserError(
                f"attribute '{self.name}' of {where} has one class only ('{only}'):"
                " there is nothing to infer, so nothing to suppress or preserve"
            )
        if used * 2 > labelled:
            raise UserError(
                f"attribute '{self.name}' of {where} has {used:,} classes in {labelled:,} labelled"
                f" records, fewer than two records per class; {how_to_bin(self.name, self.classes)}"
            )


def encode(name: str, column: pa.ChunkedArray | pa.Array, where: str) -> Attribute:
    """The attribute in an Arrow column: text, integers, booleans, or a list of binary labels."""
    column = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if is_list(kind):
        return _encode_lists(name, column, where)
    if pa.types.is_floating(kind):
        whole = as_whole_numbers(column)
        if pa.types.is_floating(whole.type):
            distinct = pc.count_distinct(whole).as_py()
            raise UserError(
                f"attribute '{name}' of {where} is a column of fractions ({distinct:,} different"
                f" values), not a label; {how_to_bin(name, ('0',))}"
            )
        column = whole
    elif pa.types.is_null(kind):
        return Attribute(name, "categorical", (), np.full(len(column), -1, np.int64))
    elif not (
        is_text(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_date(kind)
    ):
        raise UserError(
            f"attribute '{name}' of {where} is {kind}, which is not a label;"
            " use text, integers, booleans, or a list of 0/1"
        )
    values = pc.unique(column).drop_null()
    values = values.take(pc.sort_indices(values))
    codes = pc.index_in(column, value_set=values).fill_null(-1)
    return Attribute(
        name,
        "categorical",
        tuple(str(v) for v in values.to_pylist()),
        codes.to_numpy().astype(np.int64),
    )


def how_to_bin(name: str, classes: Sequence[str]) -> str:
    """The way out for an attribute with too many values: numbers can be cut into ranges."""
    if not all(_is_number(one) for one in classes[:20]):
        return "bin it into classes, or leave it out"
    how = f"df[{name!r}] = pd.qcut(df[{name!r}], 5).astype(str)"
    return f"bin it into classes, or leave it out (five classes in pandas: {how})"


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).removeprefix("-").isdigit()


def gather(name: str, columns: dict[str, pa.ChunkedArray], where: str) -> Attribute:
    """One multi-label attribute from several binary columns."""
    codes = [_binary(name, label, column, where) for label, column in columns.items()]
    return Attribute(name, "multilabel", tuple(columns), np.stack(codes, axis=1))


def as_whole_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert whole-number floats to integers (pandas makes floats of integers with nulls).

    Other columns are measures and stay floats. NaN becomes null in both.
    """
    numbers = column.cast(pa.float64()) if pa.types.is_float16(column.type) else column
    numbers = pc.if_else(pc.is_nan(numbers), None, numbers)
    # Infinity equals its own floor, and beyond 2**53 floats skip integers.
    whole = pc.and_(pc.equal(numbers, pc.floor(numbers)), pc.less(pc.abs(numbers), 2.0**53))
    return numbers.cast(pa.int64()) if pc.all(whole, min_count=0).as_py() else numbers


def _binary(name: str, label: str, column: pa.ChunkedArray, where: str) -> Codes:
    if not pa.types.is_boolean(column.type) and not _is_zero_one(column):
        raise UserError(
            f"label '{label}' of multi-label attribute '{name}' in {where} must be 0, 1 or null"
        )
    return column.cast(pa.int64()).fill_null(-1).to_numpy()  # type: ignore[no-any-return]


def _is_zero_one(column: pa.ChunkedArray) -> bool:
    return is_number(column.type) and set(pc.unique(column).drop_null().to_pylist()) <= {0, 1}


def _encode_lists(name: str, column: pa.ChunkedArray, where: str) -> Attribute:
    """Lists of text are sets of tags; lists of 0/1 of equal length are labels by position."""
    flat = pc.list_flatten(column)
    if pa.types.is_dictionary(flat.type):
        flat = flat.cast(flat.type.value_type)
    n = len(column)
    missing = column.is_null().to_numpy()
    if is_text(flat.type):
        # Without any tags there is still one column, so that "no tags" differs from "missing".
        tags = sorted(pc.unique(flat).drop_null().to_pylist()) or [""]
        codes = np.zeros((n, len(tags)), np.int64)
        parent = pc.list_parent_indices(column).to_numpy()
        at = pc.index_in(flat, value_set=pa.array(tags, flat.type)).fill_null(-1).to_numpy()
        codes[parent[at >= 0], at[at >= 0]] = 1
        codes[missing] = -1
        return Attribute(name, "multilabel", tuple(tags), codes)
    lengths = set(pc.unique(pc.list_value_length(column)).drop_null().to_pylist())
    if missing.all():
        return Attribute(name, "multilabel", (), np.full((n, 0), -1, np.int64))
    binary = pa.types.is_boolean(flat.type) or _is_zero_one(flat)
    if len(lengths) != 1 or 0 in lengths or not binary:
        raise UserError(
            f"attribute '{name}' of {where} is {column.type}; a multi-label attribute is a list of"
            " 0/1 of one length, or a list of tags"
        )
    width = lengths.pop()
    codes = np.full((n, width), -1, np.int64)
    values = flat.cast(pa.int64()).fill_null(-1).to_numpy().reshape(-1, width)
    # In some Arrow versions, a null fixed-size list keeps its slots when flattened.
    codes[~missing] = values if len(values) == n - int(missing.sum()) else values[~missing]
    return Attribute(name, "multilabel", tuple(f"{name}[{i}]" for i in range(width)), codes)


def combine(attributes: Sequence[Attribute]) -> Attribute:
    """The joint attribute of several categorical ones, with a class for each combination that
    occurs: what an attacker learns about them jointly. Missing if any of them is missing."""
    for attribute in attributes:
        if attribute.multilabel:
            raise UserError(f"attribute '{attribute.name}' is multi-label and cannot be joined")
    stacked = np.stack([a.codes for a in attributes], axis=1)
    known = (stacked >= 0).all(axis=1)
    codes = np.full(len(stacked), -1, np.int64)
    found, place = np.unique(stacked[known], axis=0, return_inverse=True)
    codes[known] = place.reshape(-1)
    classes = [
        " · ".join(a.classes[c] for a, c in zip(attributes, row, strict=True)) for row in found
    ]
    return Attribute(",".join(a.name for a in attributes), "categorical", tuple(classes), codes)
