"""What every extractor is: media of one kind to feature vectors, in three steps.

    sample --prepare--> the network's input --forward--> raw features --finish--> x

`prepare` handles one sample, in one of several threads, and may refuse it (no face is found);
`forward` takes a batch; `finish` applies statistics of the training part, which are known only
after all samples were seen. None of them depends on the rest of the batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from withhold.records.samples import Kind, Sample

FloatArray = npt.NDArray[np.float32]
Prepared = npt.NDArray[Any]


class ExtractorConfig(BaseModel):
    """The settings of an extractor; extractors without settings use this class."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WeightsConfig(ExtractorConfig):
    """Settings of an extractor whose weights the user names."""

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
    batch: ClassVar[int] = 32  # samples in one call of `forward`
    # Clips: the number of frames, and the sampling interval in frames of the video.
    frames: ClassVar[int] = 16
    step: ClassVar[int] = 2
    fingerprint: str = ""  # a hash that identifies the weights; empty without weights

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
        """The same extractor with what it takes from the first sample of a collection (a rate)."""
        return self

    @property
    def lacks_statistics(self) -> bool:
        """Whether `with_statistics` must be called before `finish`."""
        return False

    def with_statistics(self, mean: FloatArray, deviation: FloatArray) -> Extractor:
        """The same extractor with mean and deviation (d,) of raw features of the training part."""
        raise TypeError(f"{self.name} needs no statistics")

    def finish(self, raw: FloatArray) -> FloatArray:
        """Features from raw features, (n, d)."""
        return raw

    def state(self) -> dict[str, Any]:
        """JSON from which `from_state` makes the same extractor."""
        return {
            "name": self.name,
            "config": self.config.model_dump(mode="json"),
            "fingerprint": self.fingerprint,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Extractor:
        """The extractor that `state` describes."""
        return cls(cls.config_type.model_validate(state["config"]))


class StandardisedExtractor(Extractor):
    """x = n((raw - mean) / deviation), with the statistics of the training part, n: to length 1."""

    mean: FloatArray | None = None
    deviation: FloatArray | None = None

    @abstractmethod
    def least_deviation(self, deviation: FloatArray) -> float:
        """Smaller deviations are raised to this: a constant feature must not be blown up."""

    @property
    def lacks_statistics(self) -> bool:
        """Until mean and deviation of the training part are known."""
        return self.mean is None

    def with_statistics(self, mean: FloatArray, deviation: FloatArray) -> Self:
        """The same extractor with mean and deviation (d,) of raw features of the training part."""
        made = copy(self)  # a network is shared; it is never changed
        least = np.float32(self.least_deviation(deviation))
        made.mean, made.deviation = mean, np.maximum(deviation, least)
        return made

    def finish(self, raw: FloatArray) -> FloatArray:
        """Standardised features of unit length, (n, d)."""
        if self.mean is None or self.deviation is None:
            raise RuntimeError(f"{self.name} has no statistics: call with_statistics() first")
        return unit((raw - self.mean) / self.deviation)

    def state(self) -> dict[str, Any]:
        """Settings and statistics, as JSON."""
        if self.lacks_statistics:
            raise RuntimeError(f"{self.name} has no statistics")
        if self.mean is None or self.deviation is None:
            return super().state()
        known = {"mean": self.mean.tolist(), "deviation": self.deviation.tolist()}
        return super().state() | known

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The extractor that `state` describes."""
        made = cls(cls.config_type.model_validate(state["config"]))
        if not made.lacks_statistics:
            return made
        mean, deviation = (np.asarray(state[n], np.float32) for n in ("mean", "deviation"))
        return made.with_statistics(mean, deviation)


def unit(x: FloatArray) -> FloatArray:
    """Rows scaled to length 1; a row of zeros stays as it is."""
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    return (x / np.where(norm > 0, norm, 1)).astype(np.float32)
