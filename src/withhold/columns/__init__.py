"""The columns of a table beside its features: what each one shows to an attacker."""

from withhold.columns.encode import EncodedColumn, encode_column
from withhold.columns.measure import Measured, describe_columns, kind_of, measure_columns
from withhold.columns.tells import Telling, how_well_it_tells, is_copy

__all__ = [
    "EncodedColumn",
    "Measured",
    "Telling",
    "describe_columns",
    "encode_column",
    "how_well_it_tells",
    "is_copy",
    "kind_of",
    "measure_columns",
]
