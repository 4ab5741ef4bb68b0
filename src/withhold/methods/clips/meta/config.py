"""Settings of `meta`: those of `adversarial`, and how support and query sets are made and used."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, PositiveFloat, model_validator

from withhold.methods.clips.adversarial.config import PAPER, AdversarialConfig

Sets = Literal["meta", "random", "joint"]
Order = Literal["second", "first"]
Update = Literal["adam", "sgd"]


class MetaConfig(AdversarialConfig):
    """phi' = phi - alpha grad L(phi, D_s); phi <- phi - beta grad[L(phi, D_s) + L(phi', D_q)].

    beta is `learning_rate`.
    """

    alpha: PositiveFloat = Field(5e-4, description="rate of the virtual step")
    learning_rate: PositiveFloat = Field(
        1e-3, description="beta, rate of the update; it falls to 0 as a cosine"
    )
    proportion: float = Field(
        0.6, gt=0, lt=1, description="share of attributes, models and clips in the support set"
    )
    sets: Sets = Field(
        "meta",
        description="meta: attribute- and model-different in turn; random: random clips; joint:"
        " as meta, without the virtual step",
    )
    order: Order = Field("second", description="first: without the derivative of the gradient")
    update: Update = Field("adam", description="how the update is made of its gradient")

    @model_validator(mode="after")
    def _two_sets(self) -> Self:
        if self.batch < 4:
            raise ValueError(
                f"batch {self.batch} cannot be divided into a support and a query set of 2 clips"
                " each; use at least 4"
            )
        return self


PRESETS: dict[str, dict[str, Any]] = {"paper": {**PAPER, "alpha": 5e-4, "proportion": 0.6}}
