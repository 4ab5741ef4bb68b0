"""Image filters against known answers and plain loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from withhold.core.errors import UserError
from withhold.media.filters import blacken, downsample, gaussian_blur, pixelate
from withhold.records.samples import ByteArray

FILTERS: dict[str, Callable[[ByteArray], ByteArray]] = {
    "blur": lambda p: gaussian_blur(p, 11, 10.0),
    "downsample": lambda p: downsample(p, 4),
    "pixelate": lambda p: pixelate(p, 5),
    "blacken": blacken,
}


def noise(*shape: int, seed: int = 0) -> ByteArray:
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


@pytest.mark.parametrize("name", FILTERS)
class TestEveryFilter:
    @pytest.mark.parametrize("side", [(1, 1), (1, 40), (40, 1), (3, 5), (37, 23)])
    def test_the_size_stays_however_small(self, name: str, side: tuple[int, int]) -> None:
        pixels = noise(*side, 3)
        out = FILTERS[name](pixels)
        assert out.shape == pixels.shape
        assert out.dtype == np.uint8

    def test_frames_are_filtered_alike_and_apart(self, name: str) -> None:
        clip = noise(2, 3, 30, 20, 3)
        each = np.stack([[FILTERS[name](frame) for frame in some] for some in clip])
        np.testing.assert_array_equal(FILTERS[name](clip), each)

    def test_channels_are_apart(self, name: str) -> None:
        pixels = noise(24, 24, 3)
        out = FILTERS[name](pixels[..., ::-1])
        np.testing.assert_array_equal(out, FILTERS[name](pixels)[..., ::-1])

    def test_the_input_stays_and_may_be_read_only_or_askew(self, name: str) -> None:
        pixels = noise(24, 20, 3)
        expected = FILTERS[name](pixels)
        frozen = pixels.copy()
        frozen.setflags(write=False)
        np.testing.assert_array_equal(FILTERS[name](frozen), expected)
        np.testing.assert_array_equal(FILTERS[name](np.asfortranarray(pixels)), expected)
        np.testing.assert_array_equal(pixels, noise(24, 20, 3))

    def test_no_frames_give_no_frames(self, name: str) -> None:
        assert FILTERS[name](noise(0, 8, 8, 3)).shape == (0, 8, 8, 3)


@pytest.mark.parametrize("name", ["blur", "downsample", "pixelate"])
def test_one_colour_stays(name: str) -> None:
    pixels = np.broadcast_to(np.array([7, 130, 255], np.uint8), (33, 21, 3))
    np.testing.assert_array_equal(FILTERS[name](pixels), pixels)


class TestBlur:
    def test_a_white_pixel_becomes_a_gaussian_of_sum_one(self) -> None:
        pixels = np.zeros((1, 9, 3), np.uint8)
        pixels[:, 4] = 255
        weights = np.exp([-0.5, -1 / 8, 0, -1 / 8, -0.5])
        expected = np.rint(255 * np.pad(weights / weights.sum(), 2))
        np.testing.assert_array_equal(gaussian_blur(pixels, 5, 2.0)[0, :, 0], expected)

    @pytest.mark.parametrize(("kernel", "sigma"), [(11, 10.0), (21, 15.0), (5, 0.7)])
    def test_it_is_the_convolution_of_a_mirrored_image(self, kernel: int, sigma: float) -> None:
        pixels = noise(24, 30, 3)
        x = np.arange(kernel) - kernel // 2
        line = np.exp(-(x**2) / (2 * sigma**2))
        weights = np.outer(line, line) / line.sum() ** 2
        pad = kernel // 2
        padded = np.pad(pixels.astype(float), ((pad, pad), (pad, pad), (0, 0)), mode="reflect")
        expected = np.empty(pixels.shape)
        for i in range(24):
            for j in range(30):
                piece = padded[i : i + kernel, j : j + kernel]
                expected[i, j] = (piece * weights[..., None]).sum((0, 1))
        out = gaussian_blur(pixels, kernel, sigma)
        # Half a step of rounding, and what float32 may add to it.
        assert np.abs(out - expected).max() <= 0.5 + 1e-3

    def test_an_image_smaller_than_the_kernel_is_mirrored_again_and_again(self) -> None:
        pixels = noise(4, 3, 3)
        padded = np.pad(pixels, ((40, 40), (40, 40), (0, 0)), mode="reflect")
        expected = gaussian_blur(padded, 21, 15.0)[40:44, 40:43]
        np.testing.assert_array_equal(gaussian_blur(pixels, 21, 15.0), expected)

    def test_a_kernel_of_one_pixel_changes_nothing(self) -> None:
        np.testing.assert_array_equal(gaussian_blur(noise(9, 9, 3), 1, 3.0), noise(9, 9, 3))

    @pytest.mark.parametrize(("kernel", "sigma"), [(4, 1.0), (0, 1.0), (-3, 1.0), (3, 0.0)])
    def test_what_is_no_kernel_is_refused(self, kernel: int, sigma: float) -> None:
        with pytest.raises(UserError, match=r"kernel|sigma"):
            gaussian_blur(noise(9, 9, 3), kernel, sigma)


class TestDownsample:
    def test_ratio_one_changes_nothing(self) -> None:
        np.testing.assert_array_equal(downsample(noise(17, 12, 3), 1), noise(17, 12, 3))

    def test_nothing_but_block_means_is_left(self) -> None:
        """Two images with equal means of every 4 x 4 block give the same."""
        one = noise(32, 24, 3)
        blocks = one.reshape(8, 4, 6, 4, 3)
        other = blocks[:, ::-1, :, [2, 0, 3, 1]].reshape(32, 24, 3)
        assert (one != other).any()
        np.testing.assert_array_equal(downsample(one, 4), downsample(other, 4))

    def test_a_step_becomes_a_ramp(self) -> None:
        pixels = np.zeros((4, 8, 3), np.uint8)
        pixels[:, 4:] = 200
        # The small image has columns 0 0 200 200 at 0.5, 2.5, 4.5, 6.5; bilinear between them.
        expected = [0, 0, 0, 50, 150, 200, 200, 200]
        np.testing.assert_array_equal(downsample(pixels, 2)[0, :, 0], expected)

    def test_less_than_one_is_refused(self) -> None:
        with pytest.raises(UserError, match=r"ratio.* 1 or more, not 0\.5"):
            downsample(noise(9, 9, 3), 0.5)


class TestPixelate:
    def test_blocks_are_their_means(self) -> None:
        pixels = noise(12, 8, 3)
        out = pixelate(pixels, 4)
        for i in range(4):
            for j in range(4):
                block = (slice(3 * i, 3 * i + 3), slice(2 * j, 2 * j + 2))
                mean = pixels[block].reshape(-1, 3).mean(0)
                expected = np.broadcast_to(np.floor(mean + 0.5), (3, 2, 3))
                np.testing.assert_array_equal(out[block], expected)

    @pytest.mark.parametrize("blocks", [1, 3, 7])
    def test_sides_that_do_not_divide_are_shared_evenly(self, blocks: int) -> None:
        ramp = np.repeat(np.arange(0, 250, 25, dtype=np.uint8), 3).reshape(10, 1, 3)
        column = pixelate(ramp, blocks)[:, 0, 0]
        _, sizes = np.unique(column, return_counts=True)
        assert len(sizes) == blocks
        assert sizes.max() - sizes.min() <= 1

    def test_twice_is_once(self) -> None:
        once = pixelate(noise(31, 17, 3), 5)
        np.testing.assert_array_equal(pixelate(once, 5), once)

    def test_as_many_blocks_as_pixels_change_nothing(self) -> None:
        np.testing.assert_array_equal(pixelate(noise(6, 9, 3), 50), noise(6, 9, 3))

    def test_no_block_is_refused(self) -> None:
        with pytest.raises(UserError, match="at least 1 block"):
            pixelate(noise(9, 9, 3), 0)


def test_blacken_leaves_nothing() -> None:
    assert not blacken(noise(5, 5, 3)).any()
