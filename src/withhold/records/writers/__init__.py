"""Writers of record batches: one format a file, all streaming."""

# The format modules are imported for their registrations, so that the suffix of a path finds them.
from withhold.records.writers import csv_sink, npz_sink, parquet_sink  # noqa: F401
from withhold.records.writers.sink import Sink, check_sink, open_sink

__all__ = ["Sink", "check_sink", "open_sink"]
