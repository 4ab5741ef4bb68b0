"""Writers of record batches: one format per file, all streaming."""

# These imports register the formats under their suffixes.
from withhold.records.writers import (  # noqa: F401
    csv_sink,
    excel_sink,
    json_lines_sink,
    npz_sink,
    parquet_sink,
)
from withhold.records.writers.sink import Sink, check_sink, open_sink

__all__ = ["Sink", "check_sink", "open_sink"]
