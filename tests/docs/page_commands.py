"""Run what a page of the docs shows: its shell commands and its Python."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from withhold.cli.main import outcome

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of one language, in order."""
    found = _BLOCK.findall((DOCS / page).read_text())
    return [text for name, text in found if name == language]


def commands(page: str) -> list[list[str]]:
    """Every `withhold` command of a page, as arguments."""
    lines = [
        line for text in blocks(page, "bash") for line in text.replace("\\\n", " ").split("\n")
    ]
    return [shlex.split(line)[1:] for line in lines if line.startswith("withhold ")]


def run_commands(page: str, *, extra: dict[str, list[str]] | None = None) -> list[int]:
    """Exit codes of the commands of a page, run in the current folder.

    extra: further arguments of a command by its name, to make a fit quick.
    """
    return [outcome([*one, *(extra or {}).get(one[0], [])]) for one in commands(page)]


def run_python(page: str) -> dict[str, object]:
    """Run all Python of a page, one block after the other; returns its names."""
    names: dict[str, object] = {}
    for text in blocks(page, "python"):
        exec(compile(text, page, "exec"), names)
    return names
