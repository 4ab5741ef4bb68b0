"""The classical anonymisers: filters on media, which learn nothing, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.methods.images.blacken import BlackenModifier
from withhold.methods.images.blur import BlurModifier
from withhold.methods.images.downsample import DownsampleModifier
from withhold.methods.images.mask import MaskModifier
from withhold.methods.images.pixelate import PixelateModifier
from withhold.methods.media_modifier import MediaConfig, MediaModifier
from withhold.methods.registry import checked_settings
from withhold.methods.sounds.mcadams import McAdamsModifier
from withhold.methods.sounds.white_noise import WhiteNoiseModifier

__all__ = ["CLASSICAL", "MediaConfig", "MediaModifier", "classical_config", "is_for"]

CLASSICAL: dict[str, type[MediaModifier[Any]]] = {
    kind.method: kind
    for kind in (
        BlurModifier,
        DownsampleModifier,
        BlackenModifier,
        PixelateModifier,
        WhiteNoiseModifier,
        MaskModifier,
        McAdamsModifier,
    )
}


def is_for(method: str, found: str) -> str:
    """What to say where an anonymiser is given another kind of media.

    >>> is_for("blur", "voices holds sounds")
    "method 'blur' is for images and clips; voices holds sounds"
    """
    kinds = " and ".join(f"{kind}s" for kind in CLASSICAL[method].kinds)
    return f"method '{method}' is for {kinds}; {found}"


def classical_config(name: str, settings: Mapping[str, Any] | None = None) -> MediaConfig:
    """An anonymiser's settings from a mapping; `preset: NAME` is filled in first.

    >>> classical_config("blur", {"preset": "adience-weak"}).kernel
    11
    """
    if name not in CLASSICAL:
        raise UserError(
            f"there is no anonymiser '{name}'{did_you_mean(name, CLASSICAL)}"
            f" (anonymisers: {listing(CLASSICAL)})"
        )
    kind: Any = CLASSICAL[name]  # the class itself says what its settings are
    config = checked_settings(name, kind, settings)
    assert isinstance(config, MediaConfig)
    return config
