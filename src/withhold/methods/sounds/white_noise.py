"""`white-noise`: noise added to the waveform (MaSS, Table 6, with nlpaug's defaults)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from withhold.media.sound_filters import white_noise
from withhold.methods.media_filter import FilterConfig, media_filter
from withhold.methods.sounds.sound import SoundModifier
from withhold.records.samples import Sound

Share = Annotated[float, Field(ge=0, le=1)]


def _in_order(zone: tuple[float, float]) -> tuple[float, float]:
    if zone[0] >= zone[1]:
        raise ValueError(f"a zone must begin before it ends, not {zone[0]} to {zone[1]}")
    return zone


class WhiteNoiseConfig(FilterConfig):
    """How much noise, and where."""

    zone: Annotated[tuple[Share, Share], AfterValidator(_in_order)] = Field(
        (0.2, 0.8), description="start and end, as shares of the sound"
    )
    snr: Annotated[float, Field(ge=-100, le=100)] | None = Field(
        None,
        description="signal-to-noise ratio in the zone in dB; none for the noise of nlpaug, which"
        " does not depend on the sound",
    )


@media_filter
class WhiteNoiseModifier(SoundModifier[WhiteNoiseConfig]):
    """The sound plus noise that depends on the sound and the key."""

    method = "white-noise"
    config_type = WhiteNoiseConfig
    presets: ClassVar[dict[str, dict[str, Any]]] = {"mass": {"zone": (0.2, 0.8), "snr": None}}

    def change(self, sound: Sound) -> Sound:
        """Add the noise."""
        config = self.config
        return white_noise(sound, self._normal(sound), zone=config.zone, snr=config.snr)
