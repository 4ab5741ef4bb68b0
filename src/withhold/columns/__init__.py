"""The columns of a table beside its features: what each one shows to an attacker."""

from withhold.columns.encode import EncodedColumn, encode_column
from withhold.columns.tells import Telling, how_well_it_tells, is_copy

__all__ = ["EncodedColumn", "Telling", "encode_column", "how_well_it_tells", "is_copy"]
