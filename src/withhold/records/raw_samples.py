"""What a dataset of features knows of the media that its features came from."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from withhold.core.progress import Progress

FloatArray = npt.NDArray[np.float32]


class RawSamples(Protocol):
    """The media that features came from, able to make the two contrastive views of a record."""

    def views(
        self, rows: npt.NDArray[np.int64], *, seed: int, progress: Progress
    ) -> tuple[FloatArray, FloatArray]:
        """Features of two augmented views of each of `rows`: two arrays (len(rows), d)."""

    def stills(
        self, rows: npt.NDArray[np.int64], *, seed: int, progress: Progress
    ) -> tuple[FloatArray, FloatArray]:
        """Features of two still clips of each of `rows`, each one frame of its video repeated.

        Media other than clips give two views.
        """

    def rows(self, rows: npt.NDArray[np.int64]) -> RawSamples:
        """The same for some records."""

    def fingerprint(self) -> str:
        """What the views depend on beside the seed: samples, extractor, augmentation."""
