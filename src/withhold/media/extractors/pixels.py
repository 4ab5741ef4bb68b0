"""Pixels as features: a reduced picture, x = values in 0..1, row by row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from withhold.media.decode.pictures import grey, resized
from withhold.media.extractors.extractor import Extractor, ExtractorConfig, FloatArray, Prepared
from withhold.records.samples import Picture, Sample


class PixelsConfig(ExtractorConfig):
    """The size, and whether in colour."""

    side: int = Field(32, ge=1, le=1024, description="pixels a side; the shape is not kept")
    grey: bool = Field(True, description="one value a pixel (luma) instead of three")


class Pixels(Extractor):
    """Every pixel is the mean of its share of the picture; (side x side) or (side x side x 3)."""

    name = "pixels"
    kind = "image"
    takes = "a picture of any size"
    source = "computed, there are no weights"
    licence = "none needed"
    config_type = PixelsConfig
    config: PixelsConfig
    batch = 256

    @property
    def dimension(self) -> int:
        """Length of a feature vector."""
        return self.config.side**2 * (1 if self.config.grey else 3)

    def prepare(self, sample: Sample) -> Prepared:
        """The small picture, (side, side) or (side, side, 3), 0 to 255."""
        assert isinstance(sample, Picture)
        small = resized(sample.pixels, self.config.side, self.config.side, how="box")
        return grey(small) if self.config.grey else small

    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        """Raw features of a batch, (b, dimension)."""
        x = np.stack(prepared).reshape(len(prepared), -1).astype(np.float32)
        return x / np.float32(255)
