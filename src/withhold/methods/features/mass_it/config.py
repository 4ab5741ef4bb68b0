"""Settings of `mass-it`: limits in bits, weights, and how the networks train."""

from __future__ import annotations

from pydantic import Field, NonNegativeFloat, PositiveInt

from withhold.methods.features.mass.config import Weights
from withhold.methods.features.method_config import MethodConfig
from withhold.methods.features.stages.attribute_model import AttributeModelConfig

# One limit for all attributes of a role, a list in the role's order, or a mapping by name.
Bits = float | tuple[float, ...] | dict[str, float]


class MassItConfig(MethodConfig):
    """L = sum_s w_s (v_s^2 + |v_s|) + sum_u w_u (v_u^2 + |v_u|) + w InfoNCE(x, x').

    v_s = min(CE_s - H(S) + m, 0), v_u = max(CE_u - H(U) + n, 0). Limits m and n are in bits, as
    `inspect` prints entropies; the losses are in nats.
    """

    most_leaked: Bits = Field(0.0, description="m, bits of a suppressed attribute that may leak")
    least_kept: Bits | None = Field(
        None,
        description="n, bits of a preserved attribute to keep; unset: kept_share of the feasible"
        " maximum",
    )
    kept_share: float = Field(
        0.9, ge=0, le=1, description="share of the feasible bits to keep if n is not set"
    )
    suppression: Weights = Field(20.0, description="weight of the penalty of each suppressed one")
    preservation: Weights = Field(5.0, description="weight of the penalty of each preserved one")
    agnostic: NonNegativeFloat = Field(0.1, description="weight of InfoNCE between x and x'")
    temperature: float = Field(0.07, ge=0.01, description="tau of InfoNCE")

    hidden: tuple[PositiveInt, ...] = Field((256, 128, 256), description="widths in the generator")
    critic: tuple[PositiveInt, ...] = Field(
        (256, 128), min_length=1, description="widths of the critics, their outputs last"
    )
    epochs: int | None = Field(
        None, ge=1, description="passes over the data; unset: about 3,000 steps"
    )
    batch: int = Field(512, ge=2, description="records per step")
    learning_rate: float = Field(
        1e-4, gt=0, description="of the generator, for a batch of 256; grows with the batch"
    )
    adversary_pace: float = Field(
        10.0, gt=0, description="learning rate of attribute models and critics / generator's"
    )
    weight_decay: float = Field(1e-3, ge=0)
    attribute_model: AttributeModelConfig = Field(default_factory=AttributeModelConfig)
