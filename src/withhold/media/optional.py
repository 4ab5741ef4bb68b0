"""Libraries of the extra `media`, imported when they are first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from withhold.core.errors import UserError


def needed(module: str, *, by: str, package: str | None = None) -> Any:
    """The module; `by` names what needs it and `package` what pip installs, where names differ."""
    try:
        return import_module(module)
    except (ImportError, OSError) as error:  # OSError: a package without its shared library
        raise UserError(
            f"{by} needs the package {package or module}:"
            ' pip install "withhold[media]" -c constraints.txt'
        ) from error
