"""What a recipe of `kind: clips` measures on, and with which networks."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_ATTACKERS = ("resnet18:0.25", "mobilenet-v1:0.25", "inception-v1:0.25", "r3d18:0.25")


class ClipSettings(BaseModel):
    """Sizes, protocol and target models of `kind: clips`. Networks are written as resnet18:0.25.

    Same dataset: only `action` is needed. Cross dataset: `private_data` has the private labels.
    Novel actions and attributes: `novel` has the classes that the fit does not see, or
    `target_data` and `target_private` are other sets, and `attack` may name other attributes than
    those that are suppressed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: str = Field("", description="the attribute that must stay readable")
    attack: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="private attributes that are read, by the name of their group; several are one"
        " multi-label task (cMAP); unset: what the recipe suppresses",
    )
    together: bool = Field(
        False, description="a privacy model reads the labels of all groups, not of one"
    )
    novel: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="classes that the fit does not see, by attribute; targets learn only these",
    )
    private_data: str = Field("", description="a media set with the private labels")
    private_settings: dict[str, Any] = Field(default_factory=dict)
    private_most: int | None = Field(None, ge=1)
    target_data: str = Field(
        "", description="a media set whose clips the targets learn, other than that of the fit"
    )
    target_settings: dict[str, Any] = Field(default_factory=dict)
    target_private: str = Field("", description="the same for the private labels")
    target_private_settings: dict[str, Any] = Field(default_factory=dict)
    height: int = Field(48, ge=8, le=512, description="pixels")
    width: int = Field(64, ge=8, le=512, description="pixels")
    kept: int = Field(16, ge=1, le=256, description="frames of each clip, evenly over it")
    frames: int = Field(8, ge=1, le=256, description="of a sub-clip that action models read")
    step: int = Field(1, ge=1, le=64, description="sampling interval of a sub-clip, in kept frames")
    windows: int = Field(10, ge=1, description="equidistant sub-clips whose mean is the prediction")
    video: str = Field("", description="column of the video: records of one are averaged in test")
    action_models: tuple[str, ...] = Field(
        ("r3d18:0.25", "r2plus1d18:0.25"), min_length=1, description="fresh action models"
    )
    attackers: tuple[str, ...] = Field(
        _ATTACKERS, min_length=1, description="fresh privacy models, of frames or of clips"
    )
    warm: int = Field(
        1, ge=0, description="how many attackers, from the first, also start from the raw model"
    )
    pretrained: dict[str, str] = Field(
        default_factory=dict,
        description="published weights that a target model starts from; may use $NAMES",
    )
    ignorant: bool = Field(
        False, description="privacy models of the originals only, none is retrained"
    )
    frames_shown: int = Field(12_000, ge=1, description="frames that a privacy model is shown")
    clips_shown: int = Field(6_000, ge=1, description="sub-clips that a clip model is shown")
    most_epochs: int = Field(60, ge=1)
    batch: int = Field(8, ge=2, description="clips per step")
    rate: float = Field(1e-3, gt=0)
    seeds: tuple[int, ...] = Field((0,), min_length=1)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.frames - 1) * self.step + 1 > self.kept:
            raise ValueError(
                f"a sub-clip of {self.frames} frames at step {self.step} is longer than the"
                f" {self.kept} frames that are kept"
            )
        return self
