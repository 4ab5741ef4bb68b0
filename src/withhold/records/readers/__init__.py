"""Where media come from: folders, manifests, Parquet columns and arrays, all as one collection."""

from withhold.records.readers.collection import Collection, Item, Samples
from withhold.records.readers.open_media import open_media

__all__ = ["Collection", "Item", "Samples", "open_media"]
