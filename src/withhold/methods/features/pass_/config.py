"""Settings of `pass`."""

from __future__ import annotations

from pydantic import Field, NonNegativeFloat, PositiveInt

from withhold.methods.features.mass.config import Weights
from withhold.methods.features.method_config import MethodConfig


class PassConfig(MethodConfig):
    """L = -sum_s w_s H(X'|S) - sum_u w_u mean log P(u_j = u_x) + w H(X'|X) - w mean cos(x, x').

    A weight of 0 switches its term off.
    """

    candidates: int = Field(2048, ge=2, description="training records used as substitutes, at most")
    suppression: Weights = Field(1.0, description="w_s, weight of H(X'|S) of each suppressed one")
    preservation: Weights = Field(1.0, description="w_u, weight of the loss of each preserved one")
    agnostic: NonNegativeFloat = Field(0.3, description="weight of H(X'|X)")
    nearness: NonNegativeFloat = Field(
        0.0, description="weight of the cosine of a record and its substitute (not in the paper)"
    )
    temperature: float = Field(0.05, ge=0.01, description="tau of P(j|x) = softmax(cos / tau)")

    hidden: tuple[PositiveInt, ...] = Field((512, 256), description="widths of f")
    embedding: int = Field(128, ge=1, description="outputs of f, and features of each g_j")
    epochs: int | None = Field(
        None, ge=1, description="passes over the data; unset: about 1,500 steps"
    )
    batch: int = Field(512, ge=2, description="records per step")
    learning_rate: float = Field(1e-3, gt=0)
    weight_decay: float = Field(1e-3, ge=0)
