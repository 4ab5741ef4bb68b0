"""Which paths a table may name: below its own folder, unless the user allows more."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from withhold.core.errors import UserError


def is_below(real: str, root: str) -> bool:
    """Whether `real` is `root` or lies below it; both are results of os.path.realpath."""
    return real == root or real.startswith(root.rstrip("/") + "/")


@dataclass(frozen=True, eq=False)
class Fence:
    """Resolves the paths that a table names, and refuses those that leave its folder.

    A table from elsewhere could name any file of this machine: `/home/anna/scan.png`,
    `../../scan.png`, or a link beside it that leads there. Only the resolved path counts, so an
    absolute path to a file below the folder is allowed.
    """

    table: Path
    allow_outside: bool = False
    _folders: dict[str, str] = field(default_factory=dict, repr=False)

    def resolve(self, path: str, row: int) -> Path:
        """The file that row number `row` (the first is 0) names; a UserError if it is outside.

        The file need not exist. Opening it reports that.
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
        """Like os.path.realpath, with a cache of folders: many files are in few folders."""
        try:
            if path.name in ("", "..") or os.path.islink(path):
                return os.path.realpath(path)
            return os.path.join(self._real_folder(str(path.parent)), path.name)
        except ValueError:  # a zero byte: opening it reports the error
            return root

    def _real_folder(self, folder: str) -> str:
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return self._folders[folder]
