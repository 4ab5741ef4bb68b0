"""`mask`: one part of the waveform is removed (MaSS, Table 6: half of it, with nlpaug)."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from withhold.media.sound_filters import mask
from withhold.methods.media_filter import FilterConfig, media_filter
from withhold.methods.sounds.sound import SoundModifier
from withhold.records.samples import Sound


class MaskConfig(FilterConfig):
    """How long the removed part is, and what replaces it."""

    ratio: float = Field(0.5, ge=0, le=1, description="removed part as a share of the sound")
    with_noise: bool = Field(
        False, description="whether standard normal noise (very loud) replaces it"
    )


@media_filter
class MaskModifier(SoundModifier[MaskConfig]):
    """The sound without one part, whose place depends on the sound and the key."""

    method = "mask"
    config_type = MaskConfig
    # The paper names only the ratio; noise instead of zeros is the default of nlpaug.
    presets: ClassVar[dict[str, dict[str, Any]]] = {"mass": {"ratio": 0.5, "with_noise": True}}

    def change(self, sound: Sound) -> Sound:
        """Remove the part."""
        noise = self._normal(sound) if self.config.with_noise else None
        return mask(sound, ratio=self.config.ratio, start=self._uniform(sound), noise=noise)
