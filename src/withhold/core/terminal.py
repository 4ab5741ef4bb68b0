"""Prose in a terminal, broken at spaces and not inside words."""

from __future__ import annotations

import shutil
import textwrap
from typing import TextIO


def wrapped(text: str, stream: TextIO, *, indent: str = "") -> str:
    """`text` in lines of the terminal's width; one line where `stream` is a file or a pipe.

    Whoever reads a pipe (grep, a log, a program) wants one line a message. Words that are longer
    than a line, such as paths, stay whole. `indent` starts every line but the first.
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
