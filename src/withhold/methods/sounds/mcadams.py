"""`mcadams`: formants moved by the McAdams coefficient (VoicePrivacy challenge, baseline B2)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from withhold.media.sound_filters import mcadams
from withhold.methods.media_filter import FilterConfig, media_filter
from withhold.methods.sounds.sound import SoundModifier
from withhold.records.samples import Sound

Coefficient = Annotated[float, Field(gt=0, le=2)]


class McAdamsConfig(FilterConfig):
    """How far the formants move, and the analysis."""

    coefficient: Coefficient | tuple[Coefficient, Coefficient] = Field(
        0.8,
        description="power of the angles of the poles; two numbers: a draw for each sound",
    )
    order: int = Field(20, ge=2, le=100, description="poles of the linear prediction")
    window: float = Field(0.02, gt=0, le=1, description="length of a frame in seconds")
    hop: float = Field(0.01, gt=0, le=1, description="distance between frames in seconds")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if isinstance(self.coefficient, tuple) and self.coefficient[0] > self.coefficient[1]:
            raise ValueError("the lower coefficient must come first")
        if self.hop > self.window:
            raise ValueError("hop must not be longer than window")
        return self


@media_filter
class McAdamsModifier(SoundModifier[McAdamsConfig]):
    """The sound with its formants moved."""

    method = "mcadams"
    config_type = McAdamsConfig
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "voiceprivacy": {"coefficient": 0.8},
        "voiceprivacy-random": {"coefficient": (0.5, 0.9)},
    }

    def change(self, sound: Sound) -> Sound:
        """Move the formants."""
        config = self.config
        return mcadams(
            sound,
            self._coefficient(sound),
            order=config.order,
            window=config.window,
            hop=config.hop,
        )

    def _coefficient(self, sound: Sound) -> float:
        if not isinstance(self.config.coefficient, tuple):
            return self.config.coefficient
        low, high = self.config.coefficient
        return low + self._uniform(sound) * (high - low)
