"""The registry of methods: a way to learn a modifier, by name."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from withhold.dataset import Dataset
from withhold.errors import UserError, did_you_mean, listing
from withhold.methods.journal import Journal
from withhold.methods.modifier import Modifier
from withhold.progress import Progress
from withhold.roles import Roles


class Method(Protocol):
    """A fitter: it has the training loop, and leaves a frozen modifier."""

    name: ClassVar[str]
    config_type: ClassVar[type[BaseModel]]
    presets: ClassVar[dict[str, dict[str, Any]]]
    modifier_type: ClassVar[type[Modifier]]

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
        """Learn from the training part of `dataset`; roles have been checked."""


M = TypeVar("M")

_METHODS: dict[str, Method] = {}


def method(cls: type[M]) -> type[M]:
    """Class decorator that registers a method under its name."""
    instance: Any = cls()
    _METHODS[instance.name] = instance
    return cls


def method_names() -> tuple[str, ...]:
    """Every method, in the order they were registered."""
    return tuple(_METHODS)


def get_method(name: str) -> Method:
    """The method of that name."""
    if name not in _METHODS:
        raise UserError(
            f"there is no method '{name}'{did_you_mean(name, _METHODS)}"
            f" (methods: {listing(_METHODS, most=20)})"
        )
    return _METHODS[name]


def read_config(name: str, settings: dict[str, Any] | BaseModel | None) -> BaseModel:
    """A method's settings from a mapping (YAML, a dict); `preset: NAME` is filled in first."""
    chosen = get_method(name)
    if isinstance(settings, BaseModel):
        settings = settings.model_dump()
    values = dict(settings or {})
    preset = values.pop("preset", None)
    if preset is not None:
        if preset not in chosen.presets:
            raise UserError(
                f"method '{name}' has no preset '{preset}'"
                f"{did_you_mean(str(preset), chosen.presets)}"
                f" (presets: {listing(chosen.presets)})"
            )
        values = _merged(chosen.presets[preset], values)
    try:
        return chosen.config_type.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"]) or "config"
        hint = ""
        if first["type"] == "extra_forbidden":
            hint = did_you_mean(str(first["loc"][-1]), chosen.config_type.model_fields)
            raise UserError(f"method '{name}' has no setting '{where}'{hint}") from error
        raise UserError(f"setting '{where}' of method '{name}': {first['msg']}") from error


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    out = dict(base)
    for key, value in over.items():
        nested = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = _merged(out[key], value) if nested else value
    return out
