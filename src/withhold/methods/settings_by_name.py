"""Settings of a method by flat names, as in a grid search: `codes`, `contrastive__epochs`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.methods.registry import get_method, read_config

Config = Mapping[str, Any] | BaseModel | None


def flat_settings(method: Any, config: Config) -> dict[str, Any]:
    """Every setting and its value; empty if the method or the settings are invalid.

    Listing the parameters of an estimator must not fail. A fit reports what is wrong.
    """
    try:
        return _flat(read_config(method, config))
    except (UserError, TypeError):
        return {}


def with_settings(
    method: str, config: Config, changes: Mapping[str, Any], *, others: Iterable[str] = ()
) -> dict[str, Any]:
    """A copy of `config` with changed settings; `others` are names to suggest for a typo.

    Raise `UserError` naming a setting that the method does not have. Values are checked by the fit.
    """
    new = config.model_dump() if isinstance(config, BaseModel) else dict(config or {})
    known = {*_names(get_method(method).config_type), "preset"}
    for name, value in changes.items():
        if name not in known:
            hint = did_you_mean(name, [*known, *others])
            hint = hint or f" (settings: {listing(sorted(known), most=20)})"
            raise UserError(f"method '{method}' has no parameter '{name}'{hint}")
        *path, last = name.split("__")
        place = new
        for step in path:
            # Copy nested mappings, so that the mapping of the caller does not change.
            place[step] = dict(place.get(step) or {})
            place = place[step]
        place[last] = value
    return new


def _flat(config: BaseModel, before: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name in type(config).model_fields:
        value = getattr(config, name)
        if isinstance(value, BaseModel):
            out |= _flat(value, f"{before}{name}__")
        else:
            out[before + name] = value
    return out


def _names(config: type[BaseModel], before: str = "") -> list[str]:
    """Flat names of all settings and of their groups."""
    out = []
    for name, field in config.model_fields.items():
        out.append(before + name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            out += _names(field.annotation, f"{before}{name}__")
    return out
