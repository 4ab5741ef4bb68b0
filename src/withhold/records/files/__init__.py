"""Record batches between files and memory: one reader and one writer a format, all streaming.

Nothing here knows what an attribute is; `withhold.records.dataset` gives columns their meaning.
"""

# The format modules are imported for their registrations, so that the suffix of a path finds them.
from withhold.records.files import csv, npz, npz_sink, parquet  # noqa: F401
from withhold.records.files.features import FeatureLayout
from withhold.records.files.load import load_features
from withhold.records.files.sink import Sink, check_sink, open_sink
from withhold.records.files.source import Source, open_source

__all__ = [
    "FeatureLayout",
    "Sink",
    "Source",
    "check_sink",
    "load_features",
    "open_sink",
    "open_source",
]
