"""What the settings of all trained methods on clips share: frames, networks, batches."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PositiveFloat, model_validator

from withhold.core.errors import UserError
from withhold.learn.nets.model_registry import clip_model_named, image_model_named

_SIZED = re.compile(r"([a-z0-9-]+)(?::([0-9]*\.?[0-9]+))?")


def model_and_width(text: str) -> tuple[str, float]:
    """The name and the width of a network.

    >>> model_and_width("resnet18:0.25"), model_and_width("r3d18")
    (('resnet18', 0.25), ('r3d18', 1.0))
    """
    found = _SIZED.fullmatch(text)
    if found is None:
        raise ValueError(
            f"'{text}' is no network; write a name, or a name and a width: resnet18:0.25"
        )
    return found[1], float(found[2] or 1)


def _image(text: str) -> str:
    return _known(text, image=True)


def _clip(text: str) -> str:
    return _known(text, image=False)


def _known(text: str, *, image: bool) -> str:
    name, width = model_and_width(text)
    try:
        (image_model_named if image else clip_model_named)(name, width)
    except UserError as error:  # a validator reports a ValueError
        raise ValueError(str(error)) from error
    return text


ImageModelName = Annotated[str, AfterValidator(_image)]
ClipModelName = Annotated[str, AfterValidator(_clip)]


class ClipConfig(BaseModel):
    """Frames, anonymiser and action model. Networks are named with a width, as resnet18:0.25."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    height: int = Field(48, ge=8, le=512, description="height of the networks' frames in pixels")
    width: int = Field(64, ge=8, le=512, description="width of the networks' frames in pixels")
    frames: int = Field(8, ge=2, le=128, description="frames of a clip in training")
    step: int | None = Field(
        None,
        ge=1,
        le=64,
        description="distance of these frames, from the middle; unset: all over the clip",
    )
    unet_width: int = Field(8, ge=1, le=256, description="channels of the U-Net's first level")
    unet_depth: int = Field(3, ge=1, le=8, description="times that the U-Net halves a frame")
    action_model: ClipModelName = Field(
        "r3d18:0.25", description="network that recognises the preserved attributes, and its width"
    )
    action_rate: PositiveFloat = Field(1e-3, description="learning rate of the action model")
    learning_rate: PositiveFloat = Field(
        1e-3, description="learning rate of the anonymiser; it falls to 0 as a cosine"
    )
    batch: int = Field(8, ge=2, description="clips per step")
    epochs: int | None = Field(
        None, ge=1, description="passes over the clips; unset: about 800 steps"
    )
    reconstruction_epochs: int | None = Field(
        None,
        ge=0,
        description="first phase, the anonymiser learns to return its input (L1); unset: about"
        " 150 steps; 0: left out",
    )
    action_epochs: int | None = Field(
        None,
        ge=0,
        description="second phase, the action model learns; unset: about 300 steps; 0: left out",
    )

    @model_validator(mode="after")
    def _halves(self) -> Self:
        whole = 2**self.unet_depth
        for name, pixels in (("height", self.height), ("width", self.width)):
            if pixels % whole:
                raise ValueError(
                    f"{name} {pixels} cannot be halved {self.unet_depth} times (unet_depth); use"
                    f" {max(pixels // whole, 1) * whole}, or a smaller unet_depth"
                )
        return self
