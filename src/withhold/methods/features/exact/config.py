"""The settings of `exact`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from withhold.methods.features.codebook.config import CodebookConfig
from withhold.methods.features.method_config import MethodConfig

FEWEST = 5  # records of a class, where the user sets no `smallest`
Share = Annotated[float, Field(ge=0, lt=1)]


class ExactConfig(MethodConfig):
    """How many codes, how a record is compared with them, and how the draws are spread."""

    codes: int | None = Field(
        None,
        ge=2,
        le=4096,
        description="number of codes; unset: at most one for every `each` records of the smallest"
        " class, as many as keep most",
    )
    each: int = Field(5, ge=1, description="records for each class and code, on average")
    scores: Literal["network", "metric"] | None = Field(
        None,
        description="compares records with codes; unset: what keeps most, for tables metric",
    )
    softness: float = Field(
        1.0,
        gt=0,
        le=16,
        description="entropic weight of the released plan: softer draws weaken elimination",
    )
    contrast: float = Field(
        2.0,
        ge=1,
        le=8,
        description="tables: above 1, a row takes the common values of its code more often; every"
        " column keeps its shares",
    )
    per: Literal["record", "person"] = Field(
        "record",
        description="who draws a code: every record, or every person (--group) once for all its"
        " records with the same class and preserved value",
    )
    least: int = Field(5, ge=1, description="people (groups, or records) behind every code")
    smallest: int | None = Field(
        None,
        ge=1,
        description="joint classes with fewer records are merged, and not hidden from each other;"
        " unset: 5, and a value of one attribute with fewer is refused",
    )

    # The learning of the codes; see `codebook`.
    directions: int = Field(128, ge=1, description="principal directions of the transport")
    components: int = Field(256, ge=1, description="principal components that the network sees")
    hidden: tuple[PositiveInt, ...] = Field((512, 256), description="widths")
    dropout: tuple[Share, ...] = Field((0.3, 0.5, 0.5), min_length=1)
    rounds: int = Field(4, ge=1, description="rounds of network and plan")
    exact_rounds: int = Field(4, ge=0, description="further rounds on the exactly balanced plan")
    epochs: int | None = Field(None, ge=1, description="passes in a round; unset: about 280 steps")
    batch: int = Field(512, ge=2)
    learning_rate: float = Field(3e-3, gt=0)
    weight_decay: float = Field(0.01, ge=0)

    @property
    def fewest(self) -> int:
        """Records from which a class is hidden by itself."""
        return FEWEST if self.smallest is None else self.smallest

    def of_codebook(self, codes: int) -> CodebookConfig:
        """The settings of the solvers of `codebook`, which learn the scores."""
        shared = (
            "least", "directions", "components", "hidden", "dropout", "rounds",
            "exact_rounds", "epochs", "batch", "learning_rate", "weight_decay",
        )  # fmt: skip
        values = {name: getattr(self, name) for name in shared}
        return CodebookConfig(codes=max(codes, 2), folds=1, smallest=self.fewest, **values)
