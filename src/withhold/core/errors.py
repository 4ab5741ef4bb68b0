"""The one exception for a user's mistake: what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """A mistake that the user can fix; the command line prints it as one line and exits with 2."""


class RecordError(UserError):
    """A mistake in one record. `row` counts from the first record of the current batch; a caller
    that reads in batches adds the rows before it with `after`."""

    def __init__(self, row: int, what: str) -> None:
        super().__init__(f"record {row} (the first is 0) {what}")
        self.row, self.what = row, what

    def after(self, rows: int) -> RecordError:
        """The same error, with `rows` records before."""
        return RecordError(self.row + rows, self.what)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to append to an error about an unknown name; empty if nothing is close.

    >>> did_you_mean("speker", ["speaker", "digit"])
    "; did you mean 'speaker'?"
    """
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def listing(names: Iterable[str], *, most: int = 8) -> str:
    """Names for an error message, shortened if there are too many to read."""
    names = list(names)
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown or "none"
