"""Pixels: means of the picture's parts."""

from __future__ import annotations

import numpy as np

from contracts.extractor import ExtractorContract
from withhold.media.extractors.pixels import Pixels, PixelsConfig
from withhold.records.samples import Picture, Sample


class TestPixels(ExtractorContract):
    @classmethod
    def make(cls) -> Pixels:
        return Pixels()

    @classmethod
    def samples(cls, n: int, seed: int) -> list[Sample]:
        rng = np.random.default_rng(seed)
        return [
            Picture(rng.integers(0, 256, (30 + 9 * i, 50, 3), dtype=np.uint8)) for i in range(n)
        ]

    def test_a_picture_of_two_halves(self) -> None:
        pixels = np.zeros((100, 40, 3), np.uint8)
        pixels[:, 20:] = (255, 0, 0)
        x = self.features([Picture(pixels)], Pixels(PixelsConfig(side=4)))
        np.testing.assert_allclose(x, [[0, 0, 0.299, 0.299] * 4], atol=1e-6)
        x = self.features([Picture(pixels)], Pixels(PixelsConfig(side=2, grey=False)))
        np.testing.assert_allclose(x, [[0, 0, 0, 1, 0, 0] * 2])

    def test_the_mean_stays(self) -> None:
        rng = np.random.default_rng(0)
        pixels = rng.integers(0, 256, (64, 128, 3), dtype=np.uint8)
        x = self.features([Picture(pixels)], Pixels(PixelsConfig(side=16, grey=False)))
        assert abs(x.mean() - pixels.mean() / 255) < 1e-3
