"""The parts of a dataset: train, val and test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError, listing
from withhold.records.splits import PARTS, SPLIT, assign_parts, records_where
from withhold.records.tables import encode_any

if TYPE_CHECKING:
    from withhold.records.attribute import Attribute
    from withhold.records.dataset import Dataset, Rows


class SplitAccess:
    """What `Dataset` inherits to read, choose and draw the parts of its records."""

    table: pa.Table
    name: str
    group: str | None

    if TYPE_CHECKING:  # what `Dataset` has and this class uses

        def __len__(self) -> int: ...
        def attribute(self, name: str) -> Attribute:
            """The attribute of that name."""

        def rows(self, rows: Rows) -> Dataset:
            """Some of the records."""

        def with_column(self, name: str, values: pa.Array) -> Dataset:
            """The same records with a column added or replaced."""

    @property
    def group_codes(self) -> npt.NDArray[np.int64] | None:
        """An integer per record naming its group (person or source), or None."""
        return None if self.group is None else encode_any(self.table[self.group])

    @property
    def parts(self) -> npt.NDArray[np.str_] | None:
        """The part of each record, or None where the data has no `split` column."""
        if SPLIT not in self.table.column_names:
            return None
        return np.asarray([str(part) for part in self.table[SPLIT].to_pylist()])

    def part(self, *names: str) -> Dataset:
        """The records of these parts; the whole where the data has no split (see `with_split`)."""
        odd = [name for name in names if name not in PARTS]
        if odd:
            raise UserError(f"there is no part '{odd[0]}'; the parts are {listing(PARTS)}")
        parts = self.parts
        if parts is None:
            return self  # type: ignore[return-value]
        return self.rows(np.isin(parts, names))

    def with_split(
        self,
        fractions: tuple[float, float, float] = (0.6, 0.2, 0.2),
        *,
        stratify: Sequence[str] = (),
        grouped: bool | None = None,
        seed: int = 0,
    ) -> Dataset:
        """The same records with a new `split`: stratified by the joint classes of `stratify`,
        never dividing a group (unless `grouped` is false)."""
        strata = None
        for name in stratify:
            codes = self.attribute(name).codes
            codes = codes if codes.ndim == 1 else np.unique(codes, axis=0, return_inverse=True)[1]
            strata = codes if strata is None else strata * (codes.max() + 2) + codes
        groups = None if grouped is False else self.group_codes
        if grouped and groups is None:
            raise UserError("a grouped split needs a group column; name it with --group")
        parts = assign_parts(
            len(self), fractions=fractions, strata=strata, groups=groups, seed=seed
        )
        return self.with_column(SPLIT, pa.array(parts.tolist()))

    def with_drawn_split(self, suppress: Sequence[str]) -> Dataset:
        """The same where the data has a split; else one that everybody draws alike.

        It depends on the number of records and their groups, not on a seed, and on the roles only
        where the group itself is suppressed: a fit and any later audit of the same data must agree
        on which records the fit never saw.
        """
        if self.parts is not None:
            return self  # type: ignore[return-value]
        # Where the group itself is to be hidden, a test part of other groups could not show it:
        # nobody can name a person whom they never met.
        return self.with_split(grouped=False if self.group in suppress else None)

    def with_test_where(self, condition: str) -> Dataset:
        """The same records with a split: test where `COLUMN OP VALUE` holds (`take>=30`)."""
        held = records_where(self.table, condition, self.name)
        if held.all() or not held.any():
            which = "every record" if held.all() else "no record"
            raise UserError(f"'{condition}' holds for {which} of {self.name}; nothing to split")
        return self.with_column(SPLIT, pa.array(np.where(held, "test", "train").tolist()))
