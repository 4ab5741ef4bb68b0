"""What every extractor is: media of one kind to feature vectors, in two steps.

    sample --prepare--> the network's input --forward--> log powers, embeddings --finish--> x

`prepare` looks at one sample, in one of several threads, and may refuse it (no face is found);
`forward` takes many at once; `finish` is where statistics of the training part come in, which are
known only when all has been seen. None of them depends on what else is in the batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from withhold.records.samples import Kind, Sample

FloatArray = npt.NDArray[np.float32]
Prepared = npt.NDArray[Any]


class ExtractorConfig(BaseModel):
    """The settings of an extractor; an extractor without any uses this one."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WeightsConfig(ExtractorConfig):
    """Of an extractor whose weights the user names."""

    weights: str | None = Field(None, description="a file, a folder, or a name on the model hub")
    download: bool = Field(False, description="whether a name on the hub may be downloaded")


class Extractor(ABC):
    """Media to features x: (n, dimension) float32."""

    name: ClassVar[str]
    kind: ClassVar[Kind]
    takes: ClassVar[str]  # its input, in words
    source: ClassVar[str]  # where its weights come from, in words
    licence: ClassVar[str]  # of the weights
    config_type: ClassVar[type[ExtractorConfig]] = ExtractorConfig
    batch: ClassVar[int] = 32  # samples that `forward` is given at once
    # Clips: how many frames it looks at, and every how manieth of the video that is.
    frames: ClassVar[int] = 16
    step: ClassVar[int] = 2

    def __init__(self, config: ExtractorConfig | None = None) -> None:
        self.config = config or self.config_type()

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Length of a feature vector."""

    @abstractmethod
    def prepare(self, sample: Sample) -> Prepared:
        """The network's input of one sample; raises BadMedia where it cannot be used."""

    @abstractmethod
    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        """Raw features of a batch, (b, dimension)."""

    def suited(self, sample: Sample) -> Extractor:
        """The same, with what it takes over from the first sample of a collection (a rate)."""
        return self

    @property
    def fingerprint(self) -> str:
        """What tells these weights from others: a hash, or empty where there are none."""
        return ""

    # --- statistics of the training part, where an extractor needs them ---

    @property
    def lacks_statistics(self) -> bool:
        """Whether `with_statistics` must be called before `finish`."""
        return False

    def with_statistics(self, mean: FloatArray, deviation: FloatArray) -> Extractor:
        """The same extractor, knowing mean and deviation (d,) of raw features of training data."""
        raise TypeError(f"{self.name} needs no statistics")

    def finish(self, raw: FloatArray) -> FloatArray:
        """Features from raw features, (n, d)."""
        return raw

    # --- saving ---

    def state(self) -> dict[str, Any]:
        """JSON that makes the same extractor again."""
        return {
            "name": self.name,
            "config": self.config.model_dump(mode="json"),
            "fingerprint": self.fingerprint,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Extractor:
        """The extractor that `state` describes."""
        return cls(cls.config_type.model_validate(state["config"]))


def unit(x: FloatArray) -> FloatArray:
    """Rows of length 1; a row of zeros stays."""
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    return (x / np.where(norm > 0, norm, 1)).astype(np.float32)
