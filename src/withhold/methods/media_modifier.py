"""What every classical anonymiser is: a frozen, pure function from a medium to one like it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict

from withhold.core.errors import UserError
from withhold.records.samples import Clip, Kind, Picture, Sample, Sound

_KEY_BYTES = 32
_KINDS: dict[type, Kind] = {Picture: "image", Sound: "sound", Clip: "clip", str: "text"}


class MediaConfig(BaseModel):
    """The settings of an anonymiser."""

    model_config = ConfigDict(extra="forbid", frozen=True)


C = TypeVar("C", bound=MediaConfig)


class MediaModifier(ABC, Generic[C]):
    """apply(sample) -> sample of the same kind and size; knows nothing of training.

    It is pure. What it draws, it derives from the sample itself and `key` (32 bytes, kept
    secret): the same sample gets the same draw, so asking twice tells nothing new.
    """

    method: ClassVar[str]
    kinds: ClassVar[tuple[Kind, ...]]
    config_type: ClassVar[type[MediaConfig]]
    presets: ClassVar[dict[str, dict[str, Any]]] = {}

    def __init__(self, config: C, key: bytes) -> None:
        if len(key) != _KEY_BYTES:
            raise ValueError(f"a key has {_KEY_BYTES} bytes, not {len(key)}")
        self.config, self.key = config, key

    def apply(self, sample: Sample) -> Sample:
        """The anonymised sample; raises BadMedia where it cannot be anonymised."""
        kind = _KINDS[type(sample)]
        if kind not in self.kinds:
            raise UserError(f"method '{self.method}' is for {' and '.join(self.kinds)}, not {kind}")
        return self._apply(sample)

    @abstractmethod
    def _apply(self, sample: Sample) -> Sample:
        """The same for a sample of a kind it is for."""

    def settings(self) -> dict[str, Any]:
        """JSON that, with the key, makes the same modifier again."""
        return self.config.model_dump(mode="json")

    @classmethod
    def from_settings(cls, settings: dict[str, Any], key: bytes) -> Self:
        """The modifier that `settings` describes."""
        config: Any = cls.config_type.model_validate(settings)
        return cls(config, key)
