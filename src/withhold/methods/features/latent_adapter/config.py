"""Settings of `latent-adapter`, and those of the paper's public code as a preset."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, NonNegativeFloat, PositiveInt

from withhold.methods.features.mass.config import Weights
from withhold.methods.features.method_config import MethodConfig

# Where the privacy term comes from: two still views of a record, labels of the suppressed
# attributes, or both.
PrivacyFrom = Literal["views", "labels", "both"]


class LatentAdapterConfig(MethodConfig):
    """L = w_LC L_LC + sum_r w_r L_r - w_B L_B. A weight of 0 switches its term off."""

    consistency: NonNegativeFloat = Field(2.0, description="w_LC, weight of ||A(z) - z||^2")
    utility: Weights = Field(1.0, description="w_r, weight of the cross-entropy of each preserved")
    suppression: NonNegativeFloat = Field(1.0, description="w_B, weight of the privacy term")
    privacy: PrivacyFrom = Field(
        "views", description="two still views of a record, labels of the suppressed, or both"
    )
    temperature: float = Field(0.1, ge=0.01, description="tau of NT-Xent")
    hidden: tuple[PositiveInt, ...] = Field(
        (), description="widths in the adapter; empty: as wide as the features"
    )
    adversary: tuple[PositiveInt, ...] = Field(
        (512, 256), min_length=1, description="widths of the models of suppressed attributes"
    )
    epochs: int | None = Field(None, ge=1, description="passes over the data; unset: 700 steps")
    batch: int = Field(512, ge=2, description="records per step")
    learning_rate: float = Field(1e-3, gt=0)
    weight_decay: float = Field(0.01, ge=0)
    draws: int = Field(4, ge=1, description="pairs of views kept of each raw sample")
    noise: float = Field(0.5, ge=0, description="views of features: noise / typical feature")
    drop: float = Field(0.2, ge=0, lt=1, description="views of features: share of features zeroed")


# SPLAVU's public code: consistency 100, utility and privacy 1, AdamW 1e-4, batch 512, 100 epochs.
# Its consistency is the mean over features of VideoMAE, ours that over unit vectors of length d.
PRESETS: dict[str, dict[str, Any]] = {
    "splavu": {"consistency": 100.0, "learning_rate": 1e-4, "epochs": 100, "batch": 512},
}
