"""Settings of `mass`: every term of Eq. 9 with its weight, and the papers' presets."""

from __future__ import annotations

from typing import Any

from pydantic import Field, NonNegativeFloat, PositiveInt

from withhold.core.errors import UserError, did_you_mean
from withhold.learn.losses.similarity import Similarity
from withhold.methods.features.method_config import MethodConfig
from withhold.methods.features.stages.attribute_model import AttributeModelConfig
from withhold.methods.features.stages.contrastive import ContrastiveConfig

# One weight for all attributes of a role, a list in the role's order, or a mapping by name.
Weights = NonNegativeFloat | tuple[NonNegativeFloat, ...] | dict[str, NonNegativeFloat]


class MassConfig(MethodConfig):
    """L = sum_s L^s + L_rec + L^{r*} + sum_r L^r (Eq. 9). A weight of 0 switches its term off."""

    reconstruction: NonNegativeFloat = Field(1.0, description="w_rec, weight of ||x' - x|| (Eq. 4)")
    suppression: Weights = Field(10.0, description="w^s, weight of the similarity (Eq. 2)")
    entropy: Weights = Field(4.0, description="h^s, weight of the prediction's entropy (Eq. 3)")
    agnostic: NonNegativeFloat = Field(5.0, description="w^{r*}, weight of NT-Xent (Eq. 7)")
    preservation: Weights = Field(0.7, description="w^r, weight of each preserved one (Eq. 8)")
    similarity: Similarity = Field("cosine", description="sim^s of suppressed attributes")
    preserve_similarity: Similarity = Field("kl", description="sim^r of preserved attributes")

    hidden: tuple[PositiveInt, ...] = Field((256, 128, 256), description="widths in the modifier")
    epochs: int | None = Field(
        None,
        ge=1,
        description="passes over the data; unset: about 700 steps (papers: 100 passes)",
    )
    batch: int = Field(512, ge=2, description="records per step")
    learning_rate: float = Field(0.01, gt=0)
    weight_decay: float = Field(0.05, ge=0)
    attribute_model: AttributeModelConfig = Field(default_factory=AttributeModelConfig)
    contrastive: ContrastiveConfig = Field(default_factory=ContrastiveConfig)


def weight_of(weights: Weights, names: tuple[str, ...], *, setting: str) -> dict[str, float]:
    """The weight of each attribute of a role.

    >>> weight_of((0.01, 0.001), ("digit", "accent", "gender"), setting="preservation")
    {'digit': 0.01, 'accent': 0.001, 'gender': 0.001}
    """
    if isinstance(weights, dict):
        for name in weights:
            if name not in names:
                raise UserError(
                    f"setting '{setting}' gives a weight to '{name}', which does not have that role"
                    f"{did_you_mean(name, names)}"
                )
        return {name: float(weights.get(name, 1.0)) for name in names}
    if isinstance(weights, tuple):
        if not weights:
            raise UserError(f"setting '{setting}' is an empty list; give one weight or more")
        padded = list(weights) + [weights[-1]] * len(names)
        return {name: float(padded[i]) for i, name in enumerate(names)}
    return dict.fromkeys(names, float(weights))


_HUNDRED: dict[str, Any] = {
    "epochs": 100,
    "weight_decay": 0.05,
    "attribute_model": {"epochs": 100},
    "contrastive": {"epochs": 100},
}

# MaSS, Table 7. The batch is what the papers' GPUs saw together (128 on each of 4).
PRESETS: dict[str, dict[str, Any]] = {
    "adience": _HUNDRED
    | {
        "batch": 64,
        "learning_rate": 0.00125,
        "reconstruction": 1.0,
        "suppression": 5.0,
        "entropy": 1.0,
        "agnostic": 40.0,
        "preservation": 1.0,
    },
    "audiomnist": _HUNDRED
    | {
        "batch": 512,
        "learning_rate": 0.01,
        "reconstruction": 10.0,
        "suppression": 0.001,
        "entropy": 0.1,
        "agnostic": 15.0,
        "preservation": (0.01, 0.001, 0.001),
    },
    "pa-hmdb": _HUNDRED
    | {
        "batch": 512,
        "learning_rate": 0.01,
        "reconstruction": 1.0,
        "suppression": 1.0,
        "entropy": 0.1,
        "agnostic": 1000.0,
        "preservation": 50.0,
    },
}
