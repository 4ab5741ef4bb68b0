"""`blur`: a Gaussian blur (MaSS, Table 5; SPAct's baselines, which blur detected boxes)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from withhold.media.filters import gaussian_blur
from withhold.methods.images.image import ImageConfig, ImageModifier
from withhold.methods.media_filter import media_filter
from withhold.records.samples import ByteArray


def _odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError(f"a kernel must have an odd number of pixels, not {value}")
    return value


class BlurConfig(ImageConfig):
    """How much blur, and where."""

    kernel: Annotated[int, AfterValidator(_odd)] = Field(
        21, ge=1, le=1001, description="side of the kernel in pixels, odd"
    )
    sigma: float = Field(
        15.0, gt=0, le=1000, description="standard deviation of the Gaussian in pixels"
    )


@media_filter
class BlurModifier(ImageModifier[BlurConfig]):
    """The image, blurred by a Gaussian of `kernel` pixels."""

    method = "blur"
    config_type = BlurConfig
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "adience-weak": {"kernel": 11, "sigma": 10.0},
        "adience-strong": {"kernel": 21, "sigma": 15.0},
        "spact-weak": {"kernel": 13, "sigma": 10.0},
        "spact-strong": {"kernel": 21, "sigma": 10.0},
        "spact-people-weak": {"kernel": 13, "sigma": 10.0, "region": "people"},
        "spact-people-strong": {"kernel": 21, "sigma": 10.0, "region": "people"},
    }

    def change(self, pixels: ByteArray) -> ByteArray:
        """Blur whole images."""
        return gaussian_blur(pixels, self.config.kernel, self.config.sigma)
