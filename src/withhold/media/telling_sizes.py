"""Warn where the size or length of media reveals what is to be suppressed.

Every method changes the content of media and keeps their size, their length and their sample rate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from withhold.core.progress import Progress, Silent
from withhold.media.file_facts import file_facts
from withhold.records.columns.column_encoding import encode_column
from withhold.records.columns.tells import how_well_it_tells
from withhold.records.dataset import Dataset

# Facts that a release keeps; a release has no metadata, and format and bytes of its own.
_KEPT = ("width", "height", "samples", "rate", "frames")
_MOST = 4_000  # media whose sizes are read


def warn_of_sizes(data: Dataset, suppress: Sequence[str], progress: Progress) -> None:
    """Say which sizes of the media reveal which suppressed attributes, as far as labels say."""
    if data.media is None:
        return
    there = [n for n in suppress if n in data.attribute_names]
    if not there:
        return
    rows = np.sort(np.random.default_rng(0).permutation(len(data))[:_MOST])
    facts = file_facts(data.media, rows, progress=Silent())
    for name in there:
        attribute = data.attribute(name).rows(rows)
        for fact in (f for f in _KEPT if f"({f})" in facts.column_names):
            encoded = encode_column(facts[f"({fact})"], seed=0)
            if encoded.distinct < 2:
                continue
            told = how_well_it_tells(encoded, attribute)
            if told.tells:
                progress.say(
                    f"warning: the {fact} of the {data.kind}s reveals '{name}'"
                    f" ({100 * told.accuracy:.0f} % right, guessing {100 * told.majority:.0f} %),"
                    " and the release keeps it; make it equal for all before you fit and release"
                )
