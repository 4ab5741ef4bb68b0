"""Media filters: classical anonymisers that learn nothing, registered as methods."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.learn.journal import Journal
from withhold.methods.media_modifier import MediaModifier
from withhold.methods.modifier import Modifier, State
from withhold.methods.registry import register
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

_KEY_BYTES = 32


class FilterConfig(BaseModel):
    """The settings of a filter."""

    model_config = ConfigDict(extra="forbid", frozen=True)


C = TypeVar("C", bound=FilterConfig)


class FilterModifier(MediaModifier, Generic[C]):
    """A filter consists of its settings and a key; it has no arrays."""

    learned = False
    config_type: ClassVar[type[FilterConfig]]
    presets: ClassVar[dict[str, dict[str, Any]]] = {}

    def __init__(self, config: C, key: bytes) -> None:
        if len(key) != _KEY_BYTES:
            raise ValueError(f"a key has {_KEY_BYTES} bytes, not {len(key)}")
        self.config, self.key = config, key

    def state(self) -> State:
        """No arrays."""
        return {}

    def settings(self) -> dict[str, Any]:
        """The settings of the method."""
        return self.config.model_dump(mode="json")

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> Self:
        """The filter that was saved."""
        if state:
            raise UserError(
                f"weights.safetensors has arrays, but '{cls.method}' needs none; restore it, or"
                " fit again"
            )
        try:
            config: Any = cls.config_type.model_validate(settings)
        except ValidationError as error:
            said = error.errors()[0]["msg"]
            raise UserError(f"settings of '{cls.method}': {said}; restore it, or fit again") from (
                error
            )
        return cls(config, key)


F = TypeVar("F", bound=type[FilterModifier[Any]])


def media_filter(modifier_type: F) -> F:
    """Class decorator that registers a filter as a method under its name."""
    register(FilterMethod(modifier_type))
    return modifier_type


class FilterMethod:
    """The fitter of a filter: it only chooses the key."""

    def __init__(self, modifier_type: type[FilterModifier[Any]]) -> None:
        self.name = modifier_type.method
        self.config_type = modifier_type.config_type
        self.presets = modifier_type.presets
        self.modifier_type: type[Modifier] = modifier_type
        self._make: Any = modifier_type

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
        """Return the filter with these settings and this key."""
        made: Modifier = self._make(config, journal.key)
        return made
