"""Import a library of an engine, or say how to install it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from withhold.core.errors import UserError

_INSTALL = {"ray": "withhold[scale]", "pyspark": "withhold[scale]"}


def needed(name: str) -> Any:
    """The module, imported on first use."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise
        package = name.partition(".")[0]
        what = _INSTALL.get(package, package)
        raise UserError(
            f"{package} is not installed; install it with: pip install '{what}'"
        ) from error
