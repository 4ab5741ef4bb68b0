"""Readers: record batches from files and frames, one format per file, and collections of media.

Nothing here knows what an attribute is; `withhold.records.dataset` gives columns their meaning.
"""

# These imports register the formats under their suffixes.
from withhold.records.readers import (  # noqa: F401
    csv_source,
    excel_source,
    json_lines_source,
    npz_source,
    parquet_source,
)
from withhold.records.readers.collection import Collection, Item, Relabelled, Samples, Selection
from withhold.records.readers.feature_layout import FeatureLayout
from withhold.records.readers.load_features import load_features
from withhold.records.readers.open_media import kind_of_folder, open_media
from withhold.records.readers.source import Source, open_source

__all__ = [
    "Collection",
    "FeatureLayout",
    "Item",
    "Relabelled",
    "Samples",
    "Selection",
    "Source",
    "kind_of_folder",
    "load_features",
    "open_media",
    "open_source",
]
