"""Where media come from: folders, manifests, Parquet columns and arrays, all as one collection."""

from withhold.media.collect.collection import Collection, Item, Samples
from withhold.media.collect.open import open_media

__all__ = ["Collection", "Item", "Samples", "open_media"]
