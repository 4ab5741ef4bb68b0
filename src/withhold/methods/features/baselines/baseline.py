"""What the baselines share: how one is fitted, saved and loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from pydantic import BaseModel

from withhold.core.progress import Progress
from withhold.learn.journal import Journal
from withhold.methods.checked_state import Arrays, StateSettings, checked_modifier
from withhold.methods.features.method_config import NoConfig
from withhold.methods.modifier import FeatureModifier, Modifier, State
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


class Baseline(ABC):
    """A fitter that measures something on the training part, without a training loop."""

    config_type: ClassVar[type[BaseModel]] = NoConfig
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    modifier_type: ClassVar[Any]
    warning: ClassVar[str] = ""  # shown to the user at each fit

    @abstractmethod
    def measure(self, train: Dataset, roles: Roles, config: Any, seed: int) -> dict[str, Any]:
        """The arguments of the modifier, except the key."""

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: Any,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> Modifier:
        """Measure the training part."""
        if self.warning:
            progress.say(self.warning)
        measured = self.measure(dataset.part("train"), roles, config, seed)
        made: Modifier = self.modifier_type(**measured, key=journal.key)
        return made


class ArrayModifier(FeatureModifier):
    """A modifier that is saved as float32 arrays: `shapes` names its attributes and arguments."""

    shapes: ClassVar[dict[str, tuple[str, ...]]]
    least: ClassVar[float | None] = None  # lower limit of all values

    def state(self) -> State:
        """The arrays."""
        return {name: getattr(self, name) for name in self.shapes}

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> Self:
        """The modifier that was saved."""
        checked_modifier(settings, StateSettings)
        arrays = Arrays(state)
        arguments: dict[str, Any] = {"key": key}
        for name, shape in cls.shapes.items():
            arguments[name] = arrays.take(name, *shape, least=cls.least)
        arrays.close()
        return cls(**arguments)
