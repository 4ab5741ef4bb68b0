"""Classes of an attribute that may be one class, written in different ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from withhold.records.attribute import Attribute

_MANY = 1000  # classes; more are no labels that people typed
_SHOWN = 4
_WORD = 3  # letters of a word that one letter may stand for: 'AB' is no word for 'A'


def spelling_notes(attribute: Attribute) -> Iterator[str]:
    """A warning for each group of classes that differ only in how they are written."""
    if attribute.multilabel or len(attribute.classes) > _MANY:
        return
    records = np.bincount(attribute.codes[attribute.known], minlength=len(attribute.classes))
    count = dict(zip(attribute.classes, records.tolist(), strict=True))
    for group in written_alike(attribute.classes):
        named = [f"'{one}' ({count[one]:,})" for one in sorted(group, key=lambda c: -count[c])]
        more = ["..."] if len(named) > _SHOWN else []
        yield (
            f"warning: {', '.join(named[:_SHOWN] + more)} of '{attribute.name}' may mean the same,"
            " but count as different classes; write them alike if they do"
        )


def written_alike(classes: Sequence[str]) -> list[list[str]]:
    """Groups of classes that are equal except for case, spaces and a full stop at the end.

    A single letter joins the only word that begins with it: 'F' and 'Female'.
    """
    groups: dict[str, list[str]] = {}
    for one in classes:
        groups.setdefault(" ".join(one.casefold().split()).rstrip("."), []).append(one)
    for letter in [key for key in groups if len(key) == 1 and key.isalpha()]:
        words = [key for key in groups if len(key) >= _WORD and key.startswith(letter)]
        if len(words) == 1 and words[0].isalpha():
            groups[letter] += groups.pop(words[0])
    return [group for group in groups.values() if len(group) > 1]
