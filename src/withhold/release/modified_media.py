"""Released media in memory: each is decoded and modified when it is asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from withhold.bundle.bundle import Bundle
from withhold.media.cutting import decode
from withhold.methods.media_modifier import MediaModifier
from withhold.records.readers import Item
from withhold.records.readers.collection import Relabelled
from withhold.records.readers.source import one_line
from withhold.records.samples import BadMedia, Sample

# What a library may raise for one medium. It is left out: only modified media leave.
STUMBLES = (OSError, ValueError, ArithmeticError, RuntimeError, MemoryError)


@dataclass(frozen=True, eq=False, repr=False)
class ModifiedMedia(Relabelled):
    """A collection modified by a bundle, with the labels that may leave.

    Items are numbered and keep no file names: the name of a file may reveal a person.
    """

    bundle: Bundle

    def items(self, start: int = 0) -> Iterator[Item]:
        """The items from number `start` on, modified."""
        for place, item in enumerate(super().items(start), start):
            yield Item(f"record {place}", modified_sample(self.bundle, item), item.labels)

    def stamp(self) -> str:
        """A text that changes when the originals or the modifier change."""
        text = f"{self.whole.stamp()} {self.bundle.method} {self.bundle.modifier.settings()}"
        key = hashlib.sha256(self.bundle.modifier.key)
        for array in self.bundle.modifier.state().values():
            key.update(array.tobytes())
        return f"{text} {key.hexdigest()}"

    def digest(self) -> str:
        """A hash of the contents: the modifier is a pure function of them."""
        return f"{self.whole.digest()} {self.stamp()}"

    def opened(self) -> dict[str, Any]:
        """Nothing: released samples are in memory."""
        return {}


def modified_sample(bundle: Bundle, item: Item) -> Sample | BadMedia:
    """The sample of an item after the modifier, or why there is none."""
    if isinstance(item.content, BadMedia):
        return item.content
    modifier = bundle.modifier
    assert isinstance(modifier, MediaModifier)
    assert bundle.kind != "features"
    assert bundle.kind != "table"
    try:
        return modifier.apply(decode(item.content, bundle.kind))
    except BadMedia as error:
        return error
    except STUMBLES as error:
        return BadMedia(f"{type(error).__name__}: {one_line(error)}")
