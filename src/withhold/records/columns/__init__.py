"""The columns of a table other than its features: what each one reveals to an attacker."""

from withhold.records.columns.column_encoding import EncodedColumn, encode_column
from withhold.records.columns.known_values import only_known_values
from withhold.records.columns.measure_columns import (
    Measured,
    describe_columns,
    kind_of,
    measure_columns,
)
from withhold.records.columns.tells import Telling, how_well_it_tells, is_copy
from withhold.records.columns.together import columns_to_pair, telling_sets
from withhold.records.columns.unlabelled import why_not_covered

__all__ = [
    "EncodedColumn",
    "Measured",
    "Telling",
    "columns_to_pair",
    "describe_columns",
    "encode_column",
    "how_well_it_tells",
    "is_copy",
    "kind_of",
    "measure_columns",
    "only_known_values",
    "telling_sets",
    "why_not_covered",
]
