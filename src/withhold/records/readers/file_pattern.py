"""Labels from the names of files: `{age}_{gender}_{race}_*.jpg`, `{person}/*`."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from withhold.core.errors import UserError


@dataclass(frozen=True)
class Pattern:
    """A file name with {fields}; `*` is anything but a slash.

    The pattern is compared with the last parts of the path: `{person}/*.png` matches
    `faces/anna/01.png`. A pattern without a suffix matches any suffix.
    """

    text: str

    def __post_init__(self) -> None:
        fields = self.fields
        for name in fields:
            if fields.count(name) > 1:
                raise UserError(f"pattern '{self.text}' names '{name}' twice")
            if not name.isidentifier():
                raise UserError(f"pattern '{self.text}': '{{{name}}}' is not a valid column name")
        if not fields:
            raise UserError(
                f"pattern '{self.text}' has no fields; write them in braces, like"
                ' "{age}_{gender}_*.jpg"'
            )

    @property
    def fields(self) -> list[str]:
        """Names of the labels, in order."""
        return re.findall(r"\{([^{}]*)\}", self.text)

    def match(self, path: str) -> dict[str, str] | None:
        """The labels in a path (with slashes), or None if it does not match."""
        depth = self.text.count("/") + 1
        found = self._regex.fullmatch("/".join(path.split("/")[-depth:]))
        return None if found is None else dict(zip(self.fields, found.groups(), strict=True))

    @property
    def _regex(self) -> re.Pattern[str]:
        parts = re.split(r"(\{[^{}]*\}|\*)", self.text)
        # Fields and stars are at odd positions. An unmatched brace is plain text.
        body = "".join(
            re.escape(p) if i % 2 == 0 else "[^/]*?" if p == "*" else "([^/]+?)"
            for i, p in enumerate(parts)
        )
        suffix = "" if re.search(r"\.\w+$", self.text) else r"(?:\.\w+)?"
        return re.compile(body + suffix, re.IGNORECASE)


def typed(values: list[str | None]) -> pa.Array:
    """Integers if every value is one and different texts stay different; otherwise text.

    >>> typed(["7", "31"]).type, typed(["07", "7"]).type
    (DataType(int64), DataType(string))
    """
    known = {v for v in values if v is not None}
    whole = bool(known) and all(re.fullmatch(r"-?\d{1,17}", v) for v in known)
    if whole and len({int(v) for v in known}) == len(known):
        return pa.array([None if v is None else int(v) for v in values], pa.int64())
    return pa.array(values, pa.string())
