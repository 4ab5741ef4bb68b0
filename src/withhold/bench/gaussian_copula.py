"""A synthetic table by a Gaussian copula, as synthetic-data tools make it.

SDV, the best-known of these tools, needs pandas below 3 and cannot be installed beside our pins.
Its copula is the package `copulas`, which is used here, with the encoding that SDV's
`UniformEncoder` gives to categories for every column: a value has an interval of [0, 1] as long as
its share of the rows, and a row has a random place in the interval of its value. So every column
keeps its shares, and the copula adds the correlations. `copulas` is under the Business Source
License, so no extra but `rivals` installs it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from withhold.bench.rivals import missing

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ColumnIntervals:
    """The values of a column in order, numbers ascending and categories by frequency, null first;
    `upper` (V,) is where the interval of each ends."""

    values: pa.Array
    upper: FloatArray

    @classmethod
    def of(cls, column: pa.Array) -> ColumnIntervals:
        """The intervals of the values that occur."""
        counts = pc.value_counts(column)
        values, number = counts.field("values"), counts.field("counts")
        number_like = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        key = values if number_like else pc.multiply(number, -1)
        order = pc.sort_indices(
            pa.table({"null": pc.is_null(values), "key": key}),
            sort_keys=[("null", "descending"), ("key", "ascending")],
        )
        share = np.cumsum(number.take(order).to_numpy(zero_copy_only=False)) / len(column)
        return cls(values.take(order), share)

    def places(self, column: pa.Array, rng: np.random.Generator) -> FloatArray:
        """A random place of each row in the interval of its value: (n,)."""
        index = pc.index_in(column, self.values).to_numpy(zero_copy_only=False)
        lower = np.concatenate([[0.0], self.upper[:-1]])
        found: FloatArray = lower[index] + rng.random(len(index)) * (self.upper - lower)[index]
        return found

    def take(self, places: FloatArray) -> pa.Array:
        """The values at places in [0, 1]."""
        index = np.searchsorted(self.upper, places, side="left")
        return self.values.take(pa.array(np.minimum(index, len(self.upper) - 1)))


def synthetic_table(table: pa.Table, rows: int, *, seed: int) -> pa.Table:
    """`rows` new rows with the columns of the table."""
    try:
        import pandas as pd
        from copulas.multivariate import GaussianMultivariate
        from copulas.univariate import UniformUnivariate
    except ImportError as error:
        raise missing("copulas", "a synthetic table", extra="rivals") from error
    rng = np.random.default_rng(seed)
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    intervals = {name: ColumnIntervals.of(column) for name, column in columns.items()}
    frame = pd.DataFrame({n: intervals[n].places(c, rng) for n, c in columns.items()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the fit of distributions, about single columns
        model = GaussianMultivariate(distribution=UniformUnivariate, random_state=seed)
        model.fit(frame)
        drawn = model.sample(rows)
    return pa.table({n: intervals[n].take(drawn[n].to_numpy()) for n in table.column_names})
