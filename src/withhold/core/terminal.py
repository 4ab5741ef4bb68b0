"""Text for a terminal: wrapped at spaces, and without control characters."""

from __future__ import annotations

import shutil
import textwrap
from typing import TextIO


def wrapped(text: str, stream: TextIO, *, indent: str = "") -> str:
    """Wrap `text` to the terminal's width; keep one line if `stream` is a file or a pipe.

    Readers of a pipe (grep, a log, a program) expect one line per message. Words longer than a
    line, such as paths, stay whole. `indent` starts every line but the first.
    """
    if not stream.isatty():
        return text
    return textwrap.fill(
        text,
        max(shutil.get_terminal_size().columns, 20),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def printable(text: str) -> str:
    """Replace control characters: names come from files and must not control the terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
