"""Histograms of oriented gradients: where edges vote, and what leaves them alone."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from contracts.extractor import ExtractorContract
from withhold.media.extractors.hog import Hog, HogConfig
from withhold.records.samples import ByteArray, FloatArray, Picture, Sample


def texture(seed: int, height: int = 64, width: int = 64) -> ByteArray:
    """Grey values of one parity, so that half and double of them are whole."""
    rng = np.random.default_rng(seed)
    grid = rng.integers(10, 60, (height // 4, width // 4)).repeat(4, axis=0).repeat(4, axis=1)
    return np.repeat(grid[..., None] * 2, 3, axis=2).astype(np.uint8)


def blocks(x: FloatArray) -> FloatArray:
    """One picture's features: (7, 7, 2, 2, 9), block row and column, cell, direction."""
    return x.reshape(7, 7, 2, 2, 9)


class TestHog(ExtractorContract):
    @classmethod
    def make(cls) -> Hog:
        return Hog()

    @classmethod
    def samples(cls, n: int, seed: int) -> list[Sample]:
        return [Picture(texture(10 * seed + i, 64 + 4 * i, 80)) for i in range(n)]

    def test_the_dimension_is_that_of_the_paper(self) -> None:
        assert Hog().dimension == 1764
        assert Hog(HogConfig(side=32, cell=8, directions=6)).dimension == 3 * 3 * 4 * 6

    @pytest.mark.parametrize(("turn", "directions"), [(0, [0]), (90, [4, 5])])
    def test_an_edge_votes_for_its_direction_only(self, turn: int, directions: list[int]) -> None:
        pixels = np.zeros((64, 64, 3), np.uint8)
        pixels[:, 30:] = 200
        pixels = np.ascontiguousarray(np.rot90(pixels, turn // 90))
        found = blocks(self.features([Picture(pixels)])).sum(axis=(0, 1, 2, 3))
        assert found[directions].min() > 0
        assert np.delete(found, directions).max() < 1e-6

    def test_an_edge_votes_only_near_itself(self) -> None:
        pixels = np.zeros((64, 64, 3), np.uint8)
        pixels[:, 28:] = 200  # in the middle of the fourth cell: pixels 27 and 28
        found = blocks(self.features([Picture(pixels)])).sum(axis=(0, 2, 4))  # (7, 2)
        by_cell = np.zeros(8)
        for block in range(7):
            for side in range(2):
                by_cell[block + side] += found[block, side]
        assert by_cell.argmax() == 3
        assert by_cell[[0, 1, 5, 6, 7]].max() < 1e-6

    def test_a_slanted_edge_is_shared_by_the_two_nearest_directions(self) -> None:
        y, x = np.mgrid[:64, :64]
        angle = np.deg2rad(65)  # a quarter of the way from 60 to 80 degrees
        ramp = 2.0 * (x * np.cos(angle) + y * np.sin(angle))
        grey_ramp = np.repeat(ramp[..., None], 3, axis=2).astype(np.float32)
        found = self.extractor().forward([grey_ramp[..., 0]]).reshape(7, 7, 2, 2, 9)[3, 3, 0, 0]
        assert set(np.flatnonzero(found > 1e-4)) == {3, 4}
        assert found[3] >= found[4] > 0

    def test_brightness_and_contrast_change_nothing(self) -> None:
        pixels = texture(3)
        x = self.features([Picture(pixels)])
        for other in (pixels + 60, pixels * 2, pixels // 2):
            np.testing.assert_allclose(self.features([Picture(other)]), x, atol=2e-3)
        np.testing.assert_allclose(self.features([Picture(255 - pixels)]), x, atol=2e-3)

    def test_blocks_have_length_1_and_a_flat_picture_has_none(self) -> None:
        x = self.features([Picture(texture(4)), Picture(np.full((64, 64, 3), 90, np.uint8))])
        np.testing.assert_allclose(np.linalg.norm(x[0].reshape(49, 36), axis=1), 1, atol=1e-3)
        assert np.abs(x[1]).max() == 0

    def test_a_mirror_mirrors_the_histograms(self) -> None:
        pixels = texture(5)
        x = blocks(self.features([Picture(pixels)]))
        mirrored = blocks(self.features([Picture(np.ascontiguousarray(pixels[:, ::-1]))]))
        turned = x[:, ::-1, :, ::-1][..., [0, 8, 7, 6, 5, 4, 3, 2, 1]]
        np.testing.assert_allclose(mirrored, turned, atol=1e-4)

    def test_cells_must_fit(self) -> None:
        for side, cell in ((60, 8), (8, 8)):
            with pytest.raises(ValidationError, match="whole ones"):
                HogConfig(side=side, cell=cell)
