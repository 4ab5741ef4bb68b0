"""`blacken`: faces or people, or a share of their boxes, become black (MaSS, Table 5; SPAct)."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from withhold.media.filters import blacken
from withhold.media.regions import Where
from withhold.methods.images.image import REGION, ImageConfig, ImageModifier
from withhold.methods.media_filter import media_filter
from withhold.records.samples import ByteArray


class BlackenConfig(ImageConfig):
    """Settings. The default region is faces: a black image would keep nothing."""

    region: Where = Field("faces", description=REGION)


@media_filter
class BlackenModifier(ImageModifier[BlackenConfig]):
    """The image with black boxes."""

    method = "blacken"
    config_type = BlackenConfig
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "adience-1.0": {"area": 1.0},
        "adience-0.36": {"area": 0.36},
        "adience-0.09": {"area": 0.09},
        "spact": {"region": "people"},
    }

    def change(self, pixels: ByteArray) -> ByteArray:
        """Black images."""
        return blacken(pixels)
