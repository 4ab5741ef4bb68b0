"""Moving figures as a media set, so that recipes can name them. They need no data."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from withhold.core.progress import Progress
from withhold.datasets.drawn_set import DrawnSet, write_drawn
from withhold.datasets.media_file import MediaFile
from withhold.datasets.worlds.drawn_world import SplitBy
from withhold.datasets.worlds.moving_figures import moving_figures


class MovingFiguresSet(DrawnSet):
    """`withhold.datasets.worlds.moving_figures` as an npz file of pixels."""

    example = "build,hat"

    clips: int = Field(1000, ge=1, description="how many to draw")
    people: int = Field(10, ge=1)
    side: int = Field(32, ge=32, le=112, description="pixels")
    frames: int = Field(8, ge=8, le=32)
    shares: dict[str, dict[str, float]] = Field(
        default_factory=dict,
        description='how often values occur, such as hat: {"yes": 0.1}; others share the rest',
    )
    split_by: SplitBy = Field("record", description="`person`: no person is in two parts")

    def write(
        self, folder: Path, most: int | None, *, progress: Progress | None = None
    ) -> MediaFile:
        """Draw the clips, at most `most`."""
        data = moving_figures(
            min(self.clips, most or self.clips),
            people=self.people,
            side=self.side,
            frames=self.frames,
            correlation=self.pairs(),
            shares=self.shares,
            split_by=self.split_by,
            nuisance=self.nuisance,
            seed=self.seed,
        )
        return write_drawn(data, folder / "moving-figures.npz", "clip")
