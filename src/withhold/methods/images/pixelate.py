"""`pixelate`: a mosaic of square means, as newspapers use to hide a face."""

from __future__ import annotations

from pydantic import Field

from withhold.media.filters import pixelate
from withhold.methods.images.image import ImageConfig, ImageModifier
from withhold.methods.media_filter import media_filter
from withhold.records.samples import ByteArray


class PixelateConfig(ImageConfig):
    """How many blocks, and where."""

    blocks: int = Field(
        16, ge=1, le=10_000, description="blocks along each side of the whole image, for any region"
    )


@media_filter
class PixelateModifier(ImageModifier[PixelateConfig]):
    """The image as a mosaic; on faces, the blocks are those of a mosaic of the whole image."""

    method = "pixelate"
    config_type = PixelateConfig

    def change(self, pixels: ByteArray) -> ByteArray:
        """Mosaics of whole images."""
        return pixelate(pixels, self.config.blocks)
