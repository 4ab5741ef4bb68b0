"""The registry of methods by name. A method is a way to learn a modifier."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.core.progress import Progress
from withhold.learn.journal import Journal
from withhold.methods.modifier import Modifier
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.records.samples import RecordKind


class Method(Protocol):
    """A fitter: it contains the training loop and returns a frozen modifier.

    The type of the modifier says for which kinds of records the method is.
    """

    @property
    def name(self) -> str:
        """The name for users."""

    @property
    def config_type(self) -> type[BaseModel]:
        """The type of the settings."""

    @property
    def presets(self) -> Mapping[str, dict[str, Any]]:
        """Settings by name."""

    @property
    def modifier_type(self) -> type[Modifier]:
        """What `fit` returns."""

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
    register(instance)
    return cls


def register(instance: Method) -> None:
    """Register a method under its name."""
    _METHODS[instance.name] = instance


def method_names(kind: RecordKind | None = None) -> tuple[str, ...]:
    """Every method, or those for records of one kind, in the order they were registered."""
    return tuple(
        name
        for name, known in _METHODS.items()
        if kind is None or kind in known.modifier_type.kinds
    )


def get_method(name: str) -> Method:
    """The method of that name."""
    if name not in _METHODS:
        features = method_names("features")
        media = [n for n in _METHODS if n not in features]
        raise UserError(
            f"there is no method '{name}'{did_you_mean(name, _METHODS)}"
            f" (for features: {listing(features, most=20)}; for media: {listing(media, most=20)})"
        )
    return _METHODS[name]


def require_kind(name: str, kind: RecordKind, where: str) -> None:
    """Refuse records of a kind that the method does not change."""
    kinds = get_method(name).modifier_type.kinds
    if kind in kinds:
        return
    wanted = " and ".join(plural(k) for k in kinds)
    way_out = ""
    if kinds == ("features",):
        way_out = f"; make features of them with: withhold extract {where} -o DATA.parquet"
    raise UserError(f"method '{name}' is for {wanted}; {where} holds {plural(kind)}{way_out}")


def plural(kind: RecordKind) -> str:
    """`image` to `images`; `features` is already plural."""
    return kind if kind == "features" else f"{kind}s"


def read_config(name: str, settings: Mapping[str, Any] | BaseModel | None) -> BaseModel:
    """The settings of a method from a mapping. `preset: NAME` is filled in first."""
    chosen = get_method(name)
    if isinstance(settings, BaseModel):
        settings = settings.model_dump()
    values = dict(settings or {})
    preset = values.pop("preset", None)
    if preset is not None:
        if str(preset) not in chosen.presets:
            raise UserError(
                f"method '{name}' has no preset '{preset}'"
                f"{did_you_mean(str(preset), chosen.presets)}"
                f" (presets: {listing(chosen.presets)})"
            )
        values = _merged(chosen.presets[str(preset)], values)
    try:
        return chosen.config_type.model_validate(values)
    except ValidationError as error:
        where, kind, message = _first_error(error)
        if kind == "extra_forbidden":
            known = _fields(chosen.config_type, where[:-1])
            hint = did_you_mean(where[-1], known) or f" (settings: {listing(known, most=20)})"
            raise UserError(f"method '{name}' has no setting '{'.'.join(where)}'{hint}") from error
        shown = ".".join(where) or "config"
        raise UserError(f"setting '{shown}' of method '{name}': {message}") from error


def _first_error(error: ValidationError) -> tuple[list[str], str, str]:
    """The path, type and message of the first error. In a union, that of the closest member."""
    errors = error.errors()
    same = [e for e in errors if e["loc"][:1] == errors[0]["loc"][:1]]
    told = max(same, key=lambda e: len(e["loc"]))
    # pydantic includes the member of a union ('constrained-float') in the path of the setting.
    *before, last = [str(p) for p in told["loc"]] or [""]
    where = [p for p in before if not re.search(r"constrained-|\[", p)]
    # The last part is kept if it is a name that the user wrote, even an unusual one.
    if told["type"] == "extra_forbidden" or not re.search(r"constrained-|\[", last):
        where.append(last)
    return where, told["type"], told["msg"]


def _fields(config: type[BaseModel], path: list[str]) -> list[str]:
    """Names of the settings at `path`."""
    for step in path:
        inner = config.model_fields[step].annotation
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        config = inner
    return list(config.model_fields)


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    out = dict(base)
    for key, value in over.items():
        nested = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = _merged(out[key], value) if nested else value
    return out
