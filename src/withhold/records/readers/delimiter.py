"""Which character separates the fields of a CSV file: given, by suffix, or guessed."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from itertools import islice

from withhold.core.errors import UserError

_WORDS = {
    ",": "commas",
    ";": "semicolons",
    "\t": "tabs",
    "|": "bars",
    " ": "spaces",
    ":": "colons",
    "^": "carets",
    "~": "tildes",
}
_USUAL = ",;\t|"  # the others also occur in ordinary text and times, so they need more evidence
_SPELLED = {"\\t": "\t", "tab": "\t"}  # as a shell passes a tab
_RECORDS = 200  # parsed for the guess
_ENOUGH = 0.9  # share of the records with as many fields as the header, for an unusual delimiter


def checked_delimiter(delimiter: str) -> str:
    """A delimiter that a user gave; a UserError if it cannot be one. `\\t` may be spelled out."""
    found = _SPELLED.get(delimiter, delimiter)
    if len(found) != 1 or not found.isascii() or found.isalnum() or found in '"\r\n\0':
        raise UserError(
            f"delimiter {delimiter!r} cannot separate fields; give one character that is not a"
            " letter, digit, quote or line break, such as ';' or '\\t'"
        )
    return found


def delimiter_words(delimiter: str) -> str:
    """What messages call a delimiter: "commas"."""
    return _WORDS.get(delimiter, f"'{delimiter}'" if delimiter.isprintable() else repr(delimiter))


def guess_delimiter(sample: str, *, whole: bool, name: str) -> str:
    """The delimiter of the first lines of a CSV file; a comma for a file with one column.

    Each candidate parses the sample with quotes respected. Among those that occur in the header,
    the best has the largest share of records with as many fields as the header, then is a usual
    delimiter, then gives the most fields. `whole` says that the sample is the whole file; otherwise
    its last record may be cut and does not count. A tie is a UserError.
    """
    trials = [trial for sign in _WORDS if (trial := _tried(sample, sign, whole=whole))]
    likely = [trial for trial in trials if trial.usual or trial.share >= _ENOUGH]
    if not likely:
        return ","
    best = max(likely, key=lambda trial: trial.rank)
    equal = [delimiter_words(t.sign) for t in likely if t.rank == best.rank]
    if len(equal) > 1 and best.records > 1:
        raise UserError(
            f"{name} may be separated by {' or '.join(equal)}; both give {best.width} columns;"
            f" {set_delimiter(best.sign)}"
        )
    return best.sign


def set_delimiter(example: str) -> str:
    """The way out of a wrong guess, for messages."""
    return f"say which: --delimiter {example!r} (delimiter={example!r} in Python)"


@dataclass(frozen=True)
class _Trial:
    """How a candidate divides the sample."""

    sign: str
    width: int
    share: float
    records: int

    @property
    def usual(self) -> bool:
        return self.sign in _USUAL

    @property
    def rank(self) -> tuple[float, bool, int]:
        return self.share, self.usual, self.width


def _tried(sample: str, sign: str, *, whole: bool) -> _Trial | None:
    """The trial of one candidate; None if the header has one field."""
    widths: list[int] = []
    try:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=sign)
        widths = [len(row) for row in islice(reader, _RECORDS) if row]
    except csv.Error:  # a field too long for this reader: judge by the records before it
        return None
    if not whole and len(widths) > 1:
        widths.pop()
    if not widths or widths[0] < 2:
        return None
    return _Trial(sign, widths[0], widths.count(widths[0]) / len(widths), len(widths))
