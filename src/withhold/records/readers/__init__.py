"""Readers of media: folders, tables and arrays of them, each as one collection."""

from withhold.records.readers.collection import Collection, Item, Samples, Selection
from withhold.records.readers.open_media import kind_of_folder, open_media

__all__ = ["Collection", "Item", "Samples", "Selection", "kind_of_folder", "open_media"]
