"""Small data for the commands of the docs, and settings that make a fit of it quick."""

from __future__ import annotations

from pathlib import Path

from support import mixed
from withhold.records.dataset import Dataset

QUICK_CODEBOOK = [
    word
    for setting in ("codes=8", "hidden=[8]", "epochs=2", "rounds=2", "least=2", "smallest=4")
    for word in ("--set", setting)
]


def write_voices(path: Path) -> Dataset:
    """Records with a speaker whom the features reveal; labels are unlike any other word."""
    data = mixed()
    columns = {
        "speaker": [None if v is None else f"Zoe-{v}" for v in data.table["secret"].to_pylist()],
        "colour": data.table["colour"],
        "split": data.table["split"],
    }
    made = Dataset.from_arrays(data.x, columns, name="voices")
    made.write(path)
    return made
