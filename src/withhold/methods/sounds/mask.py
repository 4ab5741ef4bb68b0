"""`mask`: one stretch of the waveform taken out (MaSS, Table 6: half of it, with nlpaug)."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from withhold.media.sound_filters import mask
from withhold.methods.media_filter import FilterConfig, media_filter
from withhold.methods.sounds.sound import SoundModifier
from withhold.records.samples import Sound


class MaskConfig(FilterConfig):
    """How long a stretch, and what comes in its place."""

    ratio: float = Field(0.5, ge=0, le=1, description="length of the stretch over the sound's")
    with_noise: bool = Field(
        False, description="whether standard normal noise (as loud as can be) comes in its place"
    )


@media_filter
class MaskModifier(SoundModifier[MaskConfig]):
    """The sound without a stretch whose place belongs to it and the key."""

    method = "mask"
    config_type = MaskConfig
    # The paper names the ratio only; noise in the place of zeros is nlpaug's default.
    presets: ClassVar[dict[str, dict[str, Any]]] = {"mass": {"ratio": 0.5, "with_noise": True}}

    def change(self, sound: Sound) -> Sound:
        """Take the stretch out."""
        noise = self._normal(sound) if self.config.with_noise else None
        return mask(sound, ratio=self.config.ratio, start=self._uniform(sound), noise=noise)
