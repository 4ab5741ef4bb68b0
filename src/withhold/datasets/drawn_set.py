"""The settings that media sets of drawn worlds share, and how such a set is written."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import Field

from withhold.core.errors import UserError
from withhold.datasets.media_file import MediaFile, write_npz
from withhold.datasets.media_set import MediaSet
from withhold.datasets.worlds.attribute_set import Correlation
from withhold.records.dataset import Dataset
from withhold.records.samples import Clip, Kind, Picture


class DrawnSet(MediaSet):
    """A drawn world as an npz file of pixels. It needs no data."""

    example: ClassVar[str]  # a pair of attributes, for messages

    people: int = Field(20, ge=1)
    correlation: dict[str, float] = Field(
        default_factory=dict,
        description='phi coefficients of pairs of attributes, such as "gender,lipstick": 0.8',
    )
    nuisance: float = Field(1.0, ge=0, le=2, description="variation of light, place and noise")
    seed: int = Field(0, ge=0)

    def pairs(self) -> Correlation:
        """The correlations by pair."""
        found = {}
        for text, coefficient in self.correlation.items():
            names = [name.strip() for name in text.split(",")]
            if len(names) != 2:
                raise UserError(
                    f"correlation '{text}': name two attributes, such as {self.example}"
                )
            found[names[0], names[1]] = coefficient
        return found


def write_drawn(data: Dataset, path: Path, kind: Kind) -> MediaFile:
    """Write drawn images or clips with their labels."""
    assert data.media is not None
    contents = [item.content for item in data.media.items()]
    arrays = [c.pixels for c in contents if isinstance(c, Picture)]
    arrays += [c.frames for c in contents if isinstance(c, Clip)]
    labels = {n: np.asarray(data.table[n].to_pylist()) for n in data.table.column_names}
    parts = labels.pop("split")
    return write_npz({"X": np.stack(arrays), **labels}, "X", parts, path, kind)
