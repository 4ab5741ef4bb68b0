"""Drawn faces as a media set, so that recipes can name them. They need no data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pydantic import Field

from withhold.core.errors import UserError
from withhold.datasets.media_file import MediaFile, write_npz
from withhold.datasets.media_set import MediaSet
from withhold.datasets.worlds.drawn_faces import Correlation, drawn_faces
from withhold.records.samples import Picture


class DrawnFacesSet(MediaSet):
    """`withhold.datasets.worlds.drawn_faces` as an npz file of pixels."""

    images: int = Field(4000, ge=1, description="how many to draw")
    people: int = Field(20, ge=1)
    side: int = Field(32, ge=32, le=128, description="pixels")
    correlation: dict[str, float] = Field(
        default_factory=dict,
        description='phi coefficients of pairs of attributes, such as "gender,lipstick": 0.8',
    )
    nuisance: float = Field(1.0, ge=0, le=2, description="variation of light, place and noise")
    seed: int = Field(0, ge=0)

    def write(self, folder: Path, most: int | None) -> MediaFile:
        """Draw the faces, at most `most`."""
        data = drawn_faces(
            min(self.images, most or self.images),
            people=self.people,
            side=self.side,
            correlation=self.pairs(),
            nuisance=self.nuisance,
            seed=self.seed,
        )
        assert data.media is not None
        contents = [item.content for item in data.media.items()]
        pixels = np.stack([c.pixels for c in contents if isinstance(c, Picture)])
        labels = {n: np.asarray(data.table[n].to_pylist()) for n in data.table.column_names}
        parts = labels.pop("split")
        return write_npz({"X": pixels, **labels}, "X", parts, folder / "drawn-faces.npz", "image")

    def pairs(self) -> Correlation:
        """The correlations by pair."""
        found = {}
        for text, coefficient in self.correlation.items():
            names = [name.strip() for name in text.split(",")]
            if len(names) != 2:
                raise UserError(
                    f"correlation '{text}': name two attributes, such as gender,lipstick"
                )
            found[names[0], names[1]] = coefficient
        return found
