"""Settings of `gap` and `replace`. The defaults finish on a laptop; presets are the paper's."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, model_validator

FilterLoss = Literal["entropy", "log-likelihood"]
Shares = Literal["uniform", "data"] | dict[str, float]
Precision = Literal["float32", "bfloat16"]
NARROWEST_BFLOAT16 = 16  # channels; oneDNN crashes below that on some processors


class GapConfig(BaseModel):
    """L_f = l(h_f(x'), s) + lambda max(mean d(x, x') - epsilon, 0)^2, d the mean squared error.

    l is the negative entropy of the reader's prediction, or its cross-entropy to the other class.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    epsilon: float = Field(
        0.01, gt=0, le=1, description="distortion that is free: mean squared error, pixels 0 to 1"
    )
    penalty: PositiveFloat = Field(1e5, description="lambda, weight of distortion above epsilon")
    filter_loss: FilterLoss = Field(
        "entropy", description="entropy: no class looks likely; log-likelihood: the other of two"
    )
    side: int = Field(32, ge=8, le=512, description="side of the networks' images in pixels")
    width: int = Field(16, ge=1, le=256, description="channels of the U-Nets' first level")
    depth: int = Field(4, ge=1, le=8, description="times that the U-Nets halve the image")
    reader_width: int = Field(16, ge=1, le=256, description="channels of the ResNets' first stage")
    noise: int = Field(1024, ge=1, le=65536, description="numbers of noise per image and network")
    epochs: int | None = Field(
        None, ge=1, description="passes over the data; unset: about 1,500 steps"
    )
    batch: int = Field(64, ge=2, description="images per step")
    learning_rate: PositiveFloat = 5e-4
    precision: Precision = Field(
        "float32",
        description="of the networks in training; bfloat16 is faster where the processor has it,"
        " and needs widths of 16 or more",
    )

    @model_validator(mode="after")
    def _halves(self) -> Self:
        if self.side % 2**self.depth:
            raise ValueError(
                f"side {self.side} cannot be halved {self.depth} times (depth); use"
                f" {max(self.side // 2**self.depth, 1) * 2**self.depth}, or a smaller depth"
            )
        return self

    @model_validator(mode="after")
    def _wide_enough(self) -> Self:
        narrow = [n for n in ("width", "reader_width") if getattr(self, n) < NARROWEST_BFLOAT16]
        if self.precision == "bfloat16" and narrow:
            raise ValueError(
                f"precision bfloat16 needs {narrow[0]} {NARROWEST_BFLOAT16} or more, not"
                f" {getattr(self, narrow[0])}: narrower networks crash inside torch on some"
                f" processors; set precision float32, or {narrow[0]} {NARROWEST_BFLOAT16}"
            )
        return self


class ReplaceConfig(GapConfig):
    """As `gap`, and L_g = CE(h_g(x''), s') + lambda max(mean d(x, x'') - epsilon, 0)^2."""

    synthetic: Shares = Field(
        "uniform", description="shares of the new classes: uniform, data (as in train), or by class"
    )
    use_filter: bool = Field(True, description="false: the generator alone, the paper's ablation")
    reader_every: int = Field(
        3, ge=1, description="steps between two updates of the generator's reader"
    )

    @model_validator(mode="after")
    def _shares(self) -> Self:
        if isinstance(self.synthetic, dict):
            if any(share < 0 for share in self.synthetic.values()):
                raise ValueError("a share of 'synthetic' is negative")
            if abs(sum(self.synthetic.values()) - 1) > 1e-6:
                raise ValueError(
                    f"the shares of 'synthetic' add up to {sum(self.synthetic.values()):g}, not 1"
                )
        return self


_PAPER = {"width": 32, "reader_width": 64, "epochs": 100}
PRESETS: dict[str, dict[str, Any]] = {
    "paper-64": {**_PAPER, "side": 64},
    "paper-128": {**_PAPER, "side": 128},
}
