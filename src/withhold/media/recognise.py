"""Recognise the kind of media in a folder or table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from withhold.core.errors import UserError
from withhold.media.cutting import decode
from withhold.records.readers import Collection, open_media
from withhold.records.samples import KINDS, BadMedia, Kind, kind_of


def open_as(path: Path, kinds: Sequence[Kind], **how: Any) -> Collection:
    """Open the media as the first of `kinds` that they can be read as and look like.

    If they are of none of these kinds, they are opened as their own kind. `how` has the options of
    `open_media`.
    """
    found: dict[Kind, Collection] = {}
    mistakes: list[UserError] = []
    for kind in (*kinds, *(k for k in KINDS if k not in kinds)):
        try:
            found[kind] = open_media(path, kind, stills=False, **how)
        except UserError as error:
            mistakes.append(error)
            continue
        if kind in kinds and looks_like(found[kind]):
            return found[kind]
    for kind in kinds:
        if kind in found:
            return found[kind]  # each medium reports what is wrong with it
    for other in found.values():
        if path.is_dir() or looks_like(other):
            return other
    raise mistakes[0]


def looks_like(collection: Collection) -> bool:
    """Whether the first recognised medium is of the kind of the collection.

    This is needed because a table of paths or bytes can be opened as any kind.
    """
    for item in islice(collection.items(), 16):
        named = kind_of(item.name)
        if named is not None:
            return named == collection.kind
        if isinstance(item.content, BadMedia):
            continue
        try:
            decode(item.content, collection.kind)
        except BadMedia:
            continue
        return True
    return False
