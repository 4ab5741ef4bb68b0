"""Settings of `adversarial`. The defaults finish on a laptop; the preset is the papers'."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, PositiveFloat, model_validator

from withhold.methods.clips.clip_config import ClipConfig, ImageModelName

Suppression = Literal["uniform", "entropy"]
Ensemble = Literal["worst", "random"]
Restart = Literal["all", "turn"]


class AdversarialConfig(ClipConfig):
    """L(phi) = L_action + gamma max over i of L_suppress(f_i), f_i the privacy models.

    L_suppress is the divergence of a prediction from the uniform one (0.5 for a binary label).
    """

    gamma: float = Field(1.0, ge=0, le=1e6, description="weight of the suppression term")
    suppression: Suppression = Field(
        "uniform",
        description="KL(uniform || prediction), or log k minus the entropy of the prediction",
    )
    privacy_models: tuple[ImageModelName, ...] = Field(
        ("resnet18:0.25", "mobilenet-v2:0.25", "mobilenet-v2:0.5"),
        min_length=1,
        max_length=32,
        description="networks that read the suppressed attributes from frames, and their widths",
    )
    ensemble: Ensemble = Field(
        "worst", description="the privacy model that counts: the worst one, or a random one a step"
    )
    privacy_frames: int = Field(
        2, ge=1, le=128, description="frames of a clip that the privacy models read in a step"
    )
    privacy_rate: PositiveFloat = Field(1e-3, description="learning rate of the privacy models")
    privacy_epochs: int | None = Field(
        None,
        ge=0,
        description="third phase, the privacy models learn; unset: about 200 steps; 0: left out",
    )
    action_threshold: float = Field(
        0.7, ge=0, le=1, description="T1: validation accuracy below which f_A takes more steps"
    )
    privacy_threshold: float = Field(
        0.95, ge=0, le=1, description="T2: training accuracy below which f_i takes more steps"
    )
    least_updates: int = Field(
        1, ge=0, le=1000, description="steps of f_A and every f_i after a step of the anonymiser"
    )
    most_updates: int = Field(
        3, ge=0, le=1000, description="the most such steps, while a threshold is not reached"
    )
    check_every: int = Field(
        10, ge=1, description="steps between two measurements of f_A on the validation part"
    )
    restart_every: int | None = Field(
        200, ge=1, description="steps between two restarts of privacy models; null: never"
    )
    restart_updates: int = Field(
        20, ge=0, le=10_000, description="the most steps of a restarted privacy model at once"
    )
    restart: Restart = Field("turn", description="restart all privacy models, or one in turn")

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.most_updates < self.least_updates:
            raise ValueError(
                f"most_updates {self.most_updates} is below least_updates {self.least_updates}"
            )
        if self.privacy_frames > self.frames:
            raise ValueError(
                f"privacy_frames {self.privacy_frames} is more than a clip has (frames"
                f" {self.frames})"
            )
        return self


WIDTHS = (0.25, 0.35, 0.5, 0.6, 0.75, 0.9, 1.0, 1.3)  # of the 8 privacy models in training
PAPER: dict[str, Any] = {
    "height": 112,
    "width": 112,
    "frames": 16,
    "step": 2,
    "unet_width": 64,
    "unet_depth": 4,
    "action_model": "r3d18",
    "privacy_models": [f"mobilenet-v2:{width}" for width in WIDTHS],
    "learning_rate": 1e-4,
    "epochs": 100,
    "reconstruction_epochs": 100,
    "action_epochs": 150,
    "most_updates": 20,
    "restart": "all",
}
PRESETS: dict[str, dict[str, Any]] = {"paper": PAPER}
