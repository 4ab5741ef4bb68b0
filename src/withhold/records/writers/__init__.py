"""Writers of record batches: one format per file, all streaming."""

# These imports register the formats under their suffixes.
from withhold.records.writers import csv_sink, npz_sink, parquet_sink  # noqa: F401
from withhold.records.writers.sink import Sink, check_sink, open_sink

__all__ = ["Sink", "check_sink", "open_sink"]
