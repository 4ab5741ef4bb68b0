"""`downsample`: fewer pixels, enlarged to the same size (MaSS, Table 5; SPAct's baselines)."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from withhold.media.filters import downsample
from withhold.methods.images.image import ImageConfig, ImageModifier
from withhold.methods.media_filter import media_filter
from withhold.records.samples import ByteArray


class DownsampleConfig(ImageConfig):
    """How many fewer pixels, and where."""

    ratio: float = Field(8.0, ge=1, le=10_000, description="factor by which each side shrinks")


@media_filter
class DownsampleModifier(ImageModifier[DownsampleConfig]):
    """The image, reduced to 1 / ratio of its rows and columns and enlarged again."""

    method = "downsample"
    config_type = DownsampleConfig
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "2x": {"ratio": 2.0},
        "4x": {"ratio": 4.0},
        "8x": {"ratio": 8.0},
    }

    def change(self, pixels: ByteArray) -> ByteArray:
        """Shrink and enlarge whole images."""
        return downsample(pixels, self.config.ratio)
