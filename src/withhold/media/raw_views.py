"""Contrastive views in the raw domain: augment the medium, then extract (MaSS, Appendix B.1).

The random numbers of a view depend on (seed, record, view), not on the order or the threads.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError
from withhold.core.progress import Progress, Silent
from withhold.media.augmentations import two_instants, view_of
from withhold.media.cutting import Cutting
from withhold.media.extractors.extractor import Extractor, FloatArray
from withhold.media.pipeline import ATTEMPTS, Augment, blocks
from withhold.records.readers import Collection, Item, Selection
from withhold.records.samples import Clip, Sample

VERSION = "views 4"
Rows = npt.NDArray[np.int64]


class Change(Protocol):
    """Changes a sample before its features are extracted; `which` is 0 or 1."""

    def __call__(self, sample: Sample, which: int, rng: np.random.Generator, /) -> Sample:
        """The changed sample."""


@dataclass(frozen=True, eq=False)
class MediaViews:
    """The media behind a dataset's features: record i is the `turns[i]`th of item `places[i]`."""

    collection: Collection
    extractor: Extractor
    cutting: Cutting
    places: Rows
    turns: Rows

    @classmethod
    def of(
        cls, collection: Collection, extractor: Extractor, cutting: Cutting, places: Rows
    ) -> MediaViews:
        """From the items that the records came from, in order."""
        begins = np.concatenate([[True], places[1:] != places[:-1]])
        starts = np.maximum.accumulate(np.where(begins, np.arange(len(places)), 0))
        return cls(collection, extractor, cutting, places, np.arange(len(places)) - starts)

    def features(self, rows: Rows) -> FloatArray:
        """Features of some records, unchanged, (len(rows), d)."""
        return self._extract(rows, self.cutting, None, Silent(), "features again")

    def views(self, rows: Rows, *, seed: int, progress: Progress) -> tuple[FloatArray, FloatArray]:
        """Features of two augmented copies of each record: two arrays (len(rows), d)."""
        first, second = (self._view(rows, seed, which, progress) for which in (0, 1))
        return first, second

    def stills(self, rows: Rows, *, seed: int, progress: Progress) -> tuple[FloatArray, FloatArray]:
        """Features of two still clips of each record: a frame of each of two instants, repeated.

        Without motion, what two such clips share is what does not change over time: who and what
        is seen, and where. Media other than clips give two views.
        """
        of = _still if self.cutting.kind == "clip" else view_of
        first, second = (self._view(rows, seed, which, progress, of) for which in (0, 1))
        return first, second

    def _view(
        self, rows: Rows, seed: int, which: int, progress: Progress, change: Change = view_of
    ) -> FloatArray:
        # Places in the whole collection: a record's draw does not depend on the other rows.
        places = np.unique(self.places[rows])
        cutting: Cutting = self.cutting
        if cutting.kind == "clip" and not cutting.several:
            cutting = _instants(cutting, seed, which, places)

        plain: list[int] = []

        def augment(sample: Sample, place: int, turn: int, attempt: int) -> Sample:
            if attempt == ATTEMPTS:
                plain.append(place)
                return sample
            draw = [0x51E3, seed, int(places[place]), turn, which, attempt]
            return change(sample, which, np.random.default_rng(draw))

        name = f"raw views, {'first' if which == 0 else 'second'} of two"
        x = self._extract(rows, cutting, augment, progress, name)
        if plain:
            progress.say(
                f"{len(plain):,} of {len(rows):,} views are the unchanged records: no changed copy"
                " of them could be used"
            )
        return x

    def _extract(
        self, rows: Rows, cutting: Cutting, augment: Augment | None, progress: Progress, name: str
    ) -> FloatArray:
        wanted: dict[tuple[int, int], list[int]] = {}
        for out, row in enumerate(rows):
            wanted.setdefault((int(self.places[row]), int(self.turns[row])), []).append(out)
        picked = Selection(self.collection, np.unique(self.places[rows]))
        x = np.zeros((len(rows), self.extractor.dimension), np.float32)
        with progress.stage(name, len(picked)) as bar:
            for block in blocks(picked, self.extractor, cutting, augment=augment):
                finished = self.extractor.finish(block.raw)
                turn, last = 0, -1
                for features, place in zip(finished, block.places, strict=True):
                    turn = turn + 1 if place == last else 0
                    last = place
                    for out in wanted.pop((int(picked.places[place]), turn), ()):
                        x[out] = features
                if block.skipped:
                    lost = block.skipped[0]
                    raise UserError(
                        f"{lost.name} gave features when they were extracted and gives none now:"
                        f" {lost.reason}"
                    )
                bar.advance(block.stop - block.start)
        if wanted:
            raise UserError(f"{picked.name} gave more records when they were extracted than now")
        return x

    def rows(self, rows: Rows) -> MediaViews:
        """The same for some records."""
        return replace(self, places=self.places[rows], turns=self.turns[rows])

    def fingerprint(self) -> str:
        """A hash of all that the views depend on beside the seed."""
        said = {
            "views": VERSION,
            "media": self.collection.digest(),
            "extractor": self.extractor.state(),
            "cutting": self.cutting.state(),
        }
        h = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
        h.update(self.places.astype("<i8").tobytes() + self.turns.astype("<i8").tobytes())
        return h.hexdigest()


def _still(sample: Sample, which: int, rng: np.random.Generator) -> Sample:
    """One frame of a clip, as often as the clip has frames."""
    assert isinstance(sample, Clip)
    count = len(sample.frames)
    frame = sample.frames[int(rng.integers(count))]
    return Clip(np.repeat(frame[None], count, axis=0), sample.rate)


def _instants(cutting: Cutting, seed: int, which: int, places: Rows) -> Cutting:
    """A cutting that takes one of two random time instants of every video."""

    class Instants(Cutting):
        def windows(self, item: Item, count: int, place: int) -> Any:
            rng = np.random.default_rng([0x1257, seed, int(places[place])])
            return [two_instants(count, self.frames, self.step, rng)[which]]

    return Instants(cutting.kind, cutting.frames, cutting.step)
