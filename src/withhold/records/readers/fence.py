"""Where the paths of a table may lead: below the table's own folder, unless the user says more."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from withhold.core.errors import UserError


def is_below(real: str, root: str) -> bool:
    """Whether a path is a folder or lies in it; both as os.path.realpath gives them."""
    return real == root or real.startswith(root.rstrip("/") + "/")


@dataclass(frozen=True, eq=False)
class Fence:
    """Resolves the paths that a table names, and refuses those that leave its folder.

    A table that came from elsewhere could name any file of this machine: `/home/anna/scan.png`,
    `../../scan.png`, or a link beside it that leads there. Where a path really leads decides, so an
    absolute path to a file below the folder is as good as a relative one.
    """

    table: Path
    allow_outside: bool = False
    _folders: dict[str, str] = field(default_factory=dict, repr=False)

    def resolve(self, path: str, row: int) -> Path:
        """The file that row number `row` (the first is 0) names; a UserError where it is outside.

        Whether the file is there is found out by whoever opens it.
        """
        found = self.table.parent / path
        if self.allow_outside:
            return found
        root = self._real_folder(str(self.table.parent))
        real = self._real(found, root)
        if not is_below(real, root):
            raise UserError(
                f"{self.table.name}, row {row} (the first is 0): {path!r} leads out of the table's"
                " folder; if the table can be trusted, add --allow-outside"
            )
        return found

    def _real(self, path: Path, root: str) -> str:
        """As os.path.realpath, with the folders remembered: a table names many files of few."""
        try:
            if path.name in ("", "..") or os.path.islink(path):
                return os.path.realpath(path)
            return os.path.join(self._real_folder(str(path.parent)), path.name)
        except ValueError:  # a zero byte: whoever opens it says so
            return root

    def _real_folder(self, folder: str) -> str:
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return self._folders[folder]
