"""Settings of `spact`. The defaults finish on a laptop; the preset is the paper's."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, PositiveFloat

from withhold.methods.clips.clip_config import ClipConfig, ImageModelName

BranchKind = Literal["contrastive", "rotnet", "spatio-temporal"]


class SpactConfig(ClipConfig):
    """L(f_A) = L_CE(f_T) - w L_branch(f_B), f_B without labels."""

    weight: float = Field(1.0, ge=0, le=1e6, description="w, weight of the branch without labels")
    branch: BranchKind = Field(
        "contrastive",
        description="what f_B learns: which frames are of one clip (NT-Xent), how a frame was"
        " rotated, or which halves are of one clip (R3D-18)",
    )
    branch_model: ImageModelName = Field(
        "resnet18:0.25", description="network of f_B for frames, and its width"
    )
    projection: int = Field(128, ge=2, le=4096, description="numbers that NT-Xent compares")
    temperature: float = Field(0.1, ge=0.01, le=10, description="tau of NT-Xent")
    branch_rate: PositiveFloat = Field(1e-3, description="learning rate of f_B")
    branch_epochs: int | None = Field(
        None, ge=0, description="third phase, f_B learns; unset: about 300 steps; 0: left out"
    )


PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "height": 112,
        "width": 112,
        "frames": 16,
        "step": 2,
        "unet_width": 64,
        "unet_depth": 4,
        "action_model": "r3d18",
        "branch_model": "resnet50",
        "epochs": 100,
        "reconstruction_epochs": 100,
        "action_epochs": 150,
        "branch_epochs": 400,
    }
}
