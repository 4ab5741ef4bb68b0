"""Contrastive views of sound for a method: augment the waveform, then extract."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.media.extractors.logmel import LogMel
from withhold.media.sounds import Sounds
from withhold.media.views import crop_out, mask_out
from withhold.progress import Progress

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class SoundViews:
    """The clips behind a dataset's features, in the same order, and how they were extracted."""

    sounds: Sounds
    extractor: LogMel

    def views(
        self, rows: npt.NDArray[np.int64], *, seed: int, progress: Progress
    ) -> tuple[FloatArray, FloatArray]:
        """Features of a cropped and of a masked copy of each clip: two arrays (len(rows), d)."""
        first = np.empty((len(rows), self.extractor.dimension), np.float32)
        second = np.empty_like(first)
        rng = np.random.default_rng([0x51E3, seed])
        order = np.argsort(self.sounds.lengths[rows], kind="stable")
        with progress.stage("raw views (crop, mask)", len(rows)) as bar:
            for start in range(0, len(order), 256):
                some = order[start : start + 256]
                waves, lengths = self.sounds.padded(rows[some])
                cropped = self.extractor.log_power(*crop_out(waves, lengths, rng))
                masked = self.extractor.log_power(*mask_out(waves, lengths, rng))
                first[some] = self.extractor.finish(cropped)
                second[some] = self.extractor.finish(masked)
                bar.advance(len(some))
        return first, second

    def fingerprint(self) -> str:
        """What the views depend on beside the seed."""
        h = hashlib.sha256(b"crop 0.4, mask 0.5, version 1")
        h.update(np.ascontiguousarray(self.sounds.values).data)
        h.update(self.sounds.offsets.tobytes())
        h.update(json.dumps(self.extractor.state()).encode())
        return h.hexdigest()

    def rows(self, rows: npt.NDArray[np.int64]) -> SoundViews:
        """The same for some clips."""
        return SoundViews(self.sounds.rows(rows), self.extractor)
