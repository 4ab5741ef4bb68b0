"""`random-substitute`: each record becomes a random training record, whatever it was itself."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from withhold.core.progress import Progress
from withhold.learn.journal import Journal
from withhold.methods.channel import Channel
from withhold.methods.checked_state import Arrays, StateSettings, checked_modifier
from withhold.methods.modifier import FloatArray, Labels, State
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


class RandomSubstituteConfig(BaseModel):
    """How many candidates."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    candidates: int = Field(1024, ge=1, description="training records to draw from")


class RandomSubstituteModifier(Channel):
    """x' = c_j, j uniform and derived from the record and a key; codes: (m, d).

    The codes are real records of real people: a baseline to measure against, not to release.
    """

    method = "random-substitute"

    def __init__(self, codes: FloatArray, key: bytes) -> None:
        self.codes, self.key = codes, key

    def _probabilities(self, x: FloatArray, labels: Labels) -> FloatArray:
        shape = (len(x), len(self.codes))
        return np.full(shape, 1 / len(self.codes), np.float32)

    def state(self) -> State:
        """Candidates."""
        return {"candidates": self.codes}

    @classmethod
    def from_state(
        cls, state: State, settings: dict[str, Any], key: bytes
    ) -> RandomSubstituteModifier:
        """The modifier that was saved."""
        arrays = Arrays(state)
        checked_modifier(settings, StateSettings)
        made = cls(arrays.take("candidates", "N", "d"), key)
        arrays.close()
        return made


@method
class RandomSubstitute:
    """The fitter."""

    name = "random-substitute"
    config_type = RandomSubstituteConfig
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    modifier_type = RandomSubstituteModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: RandomSubstituteConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> RandomSubstituteModifier:
        """Choose candidates from the training part."""
        progress.say(
            "random-substitute releases training records as they are: measure with it, do not"
            " publish its release"
        )
        x = dataset.part("train").x
        rng = np.random.default_rng([seed, 0x5B])
        chosen = rng.permutation(len(x))[: config.candidates]
        return RandomSubstituteModifier(x[np.sort(chosen)], journal.key)
