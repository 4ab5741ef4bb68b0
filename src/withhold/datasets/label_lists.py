"""Lists of labels as public sets of images have them: a line for each file, cells between spaces,
tabs or commas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from withhold.core.errors import UserError, listing
from withhold.core.safe_read import read_bounded, reason

_MOST_BYTES = 2**28


@dataclass(frozen=True)
class Line:
    """The cells of a line, and where it is."""

    path: Path
    number: int  # the first is 1
    cells: list[str]

    def error(self, what: str) -> UserError:
        """A mistake in this line."""
        return UserError(f"{self.path}, line {self.number}: {what}")


def find_list(folder: Path, *names: str) -> Path:
    """The first of these files that exists; a `UserError` naming them if none does."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    more = f" (nor {listing(names[1:])})" if names[1:] else ""
    raise UserError(f"cannot read {folder / names[0]}: there is no such file{more}")


def read_lines(path: Path, separator: str | None = None) -> Iterator[Line]:
    """The lines that are not empty, cut at `separator`; without one, at any blanks.

    A file whose name ends in .csv is cut at commas.
    """
    try:
        text = read_bounded(path, _MOST_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {reason(error)}") from error
    cut = "," if path.suffix.lower() == ".csv" else separator
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield Line(path, number, [cell.strip() for cell in line.split(cut)])
