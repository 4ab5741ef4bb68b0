"""The settings of `codebook`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt, field_validator

from withhold.methods.features.method_config import MethodConfig

Share = Annotated[float, Field(ge=0, lt=1)]
Solver = Literal["self-label", "barycentre", "substitute"]


class CodebookConfig(MethodConfig):
    """How many codes, how they are learned, and how much may leak."""

    solver: Solver = Field("self-label", description="how the channel is learned")
    use_labels: bool = Field(
        False, description="the suppressed label of every transformed record is known"
    )
    codes: int | None = Field(
        None,
        ge=2,
        le=4096,
        description="number of codes; unset: one for every 5 records of a class, 16 to 256, and of"
        " these as many as the calibration records justify",
    )
    sharpness: float | None = Field(
        None,
        gt=0,
        le=16,
        description="power of q(j | x) at the release; unset: chosen on the calibration records",
    )
    draw_by: Literal["person", "record"] | None = Field(
        None,
        description="what determines a draw besides the key: the record alone, or also the group"
        " column; unset: the person if a group is named and some records are equal",
    )
    budget: str | None = Field(
        None, description='how much may leak, e.g. "speaker<=floor+1" or "speaker<=0.2 bits"'
    )
    relax: float | None = Field(
        None,
        gt=0,
        description="cost of using the codes differently by class; unset: all use them equally",
    )
    least: int = Field(5, ge=1, description="people (groups, or records) behind every code")
    smallest: int = Field(
        5,
        ge=1,
        description="joint classes with fewer records are merged, and not hidden from each other",
    )

    # The barycentre, from which the other solvers start.
    directions: int = Field(128, ge=1, description="principal directions of the transport")
    blur: tuple[float, float] = Field((0.04, 0.02), description="entropic weight, first to last")
    outer: int = Field(6, ge=1, description="moves of the codes")
    inner: int = Field(15, ge=1, description="steps of the transport between two moves")

    # The network, and the rounds of plan and network.
    components: int = Field(256, ge=1, description="principal components that the network sees")
    hidden: tuple[PositiveInt, ...] = Field((512, 256), description="widths")
    dropout: tuple[Share, ...] = Field((0.3, 0.5, 0.5), description="before each layer")
    rounds: int = Field(4, ge=1, description="rounds of network and plan")
    exact_rounds: int = Field(
        4, ge=0, description="further rounds on the exactly balanced plan of the network's scores"
    )
    epochs: int | None = Field(
        None, ge=1, description="passes over the records in a round; unset: about 280 steps"
    )
    batch: int = Field(512, ge=2, description="records per step, but at most an eighth of all")
    learning_rate: float = Field(3e-3, gt=0)
    weight_decay: float = Field(0.01, ge=0)
    softness: float = Field(0.5, gt=0, description="entropic weight of the plan of a round")
    folds: Literal[1, 2] | None = Field(
        None,
        description="networks: with 2, each reads the records that the other learned from; unset:"
        " 2 for 500 to 4,999 records, or if `codes` is so large that a class has fewer than 20"
        " records per code",
    )
    exact_softness: float = Field(
        0.25, gt=0, description="entropic weight of the plan of an exact round"
    )
    penalty: float = Field(4.0, ge=0, description="weight of I(J;S|preserved) in `substitute`")

    @field_validator("dropout")
    @classmethod
    def _not_empty(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if not value:
            raise ValueError("must have at least one share")
        return value

    @field_validator("blur")
    @classmethod
    def _positive(cls, value: tuple[float, float]) -> tuple[float, float]:
        if min(value) <= 0:
            raise ValueError("must be above 0")
        return value
