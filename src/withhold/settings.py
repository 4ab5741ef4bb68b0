"""Settings from a YAML file: a method's, or a recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from withhold.errors import UserError


def read_settings(path: Path) -> dict[str, Any]:
    """The NAME: VALUE lines of a YAML file; an empty file has none."""
    try:
        found = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not YAML: it is not text in UTF-8") from error
    except yaml.YAMLError as error:
        raise UserError(f"{path} is not YAML: {_what(error)}") from error
    if found is not None and not isinstance(found, dict):
        raise UserError(f"{path} must hold settings as NAME: VALUE lines")
    return found or {}


def _what(error: yaml.YAMLError) -> str:
    """The parser's complaint and its place, without its drawing of the line."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{error.problem} (line {mark.line + 1}, column {mark.column + 1})"
    return " ".join(str(error).split())
