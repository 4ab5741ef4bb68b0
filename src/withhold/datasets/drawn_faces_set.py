"""Drawn faces as a media set, so that recipes can name them. They need no data."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from withhold.core.progress import Progress
from withhold.datasets.drawn_set import DrawnSet, write_drawn
from withhold.datasets.media_file import MediaFile
from withhold.datasets.worlds.drawn_faces import drawn_faces


class DrawnFacesSet(DrawnSet):
    """`withhold.datasets.worlds.drawn_faces` as an npz file of pixels."""

    example = "gender,lipstick"

    images: int = Field(4000, ge=1, description="how many to draw")
    side: int = Field(32, ge=32, le=128, description="pixels")

    def write(
        self, folder: Path, most: int | None, *, progress: Progress | None = None
    ) -> MediaFile:
        """Draw the faces, at most `most`."""
        data = drawn_faces(
            min(self.images, most or self.images),
            people=self.people,
            side=self.side,
            correlation=self.pairs(),
            nuisance=self.nuisance,
            seed=self.seed,
        )
        return write_drawn(data, folder / "drawn-faces.npz", "image")
