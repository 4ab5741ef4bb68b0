"""What a network is given: the steps of its preprocessor_config.json, against Pillow by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

from withhold.core.errors import UserError
from withhold.media.extractors.image_input import ImageInput
from withhold.records.samples import BadMedia, ByteArray, FloatArray

MEAN, DEVIATION = [0.5, 0.4, 0.3], [0.2, 0.25, 0.5]
NORMALISE: dict[str, Any] = {"image_mean": MEAN, "image_std": DEVIATION}


def picture(height: int, width: int) -> ByteArray:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


def by_hand(pixels: ByteArray, width: int, height: int, how: Image.Resampling) -> FloatArray:
    small = np.asarray(Image.fromarray(pixels).resize((width, height), how))
    x = (small / 255 - np.array(MEAN)) / np.array(DEVIATION)
    return x.transpose(2, 0, 1).astype(np.float32)


def made(settings: dict[str, Any], pixels: ByteArray) -> FloatArray:
    return ImageInput.from_settings(settings, side=(224, 224))(pixels)


def test_without_a_file_the_values_of_imagenet_and_the_networks_size() -> None:
    x = ImageInput.from_settings({}, side=(32, 48))(np.full((9, 9, 3), 255, np.uint8))
    assert x.shape == (3, 32, 48)
    assert x.dtype == np.float32
    want = [(1 - 0.485) / 0.229, (1 - 0.456) / 0.224, (1 - 0.406) / 0.225]
    np.testing.assert_allclose(x[:, 3, 3], want, rtol=1e-5)


@pytest.mark.parametrize("size", [{"height": 20, "width": 20}, 20, [20, 20]])
def test_vit_squeezes(size: Any) -> None:
    settings = {"image_processor_type": "ViTImageProcessor", "size": size, **NORMALISE}
    pixels = picture(40, 70)
    want = by_hand(pixels, 20, 20, Image.Resampling.BILINEAR)
    np.testing.assert_allclose(made(settings, pixels), want, atol=1e-5)


@pytest.mark.parametrize("size", [{"shortest_edge": 30}, 30])
@pytest.mark.parametrize(("height", "width"), [(40, 71), (71, 40), (50, 50)])
def test_clip_keeps_the_shape_and_cuts_out_the_middle(size: Any, height: int, width: int) -> None:
    settings = {
        "feature_extractor_type": "CLIPFeatureExtractor",
        "size": size,
        "crop_size": 24,
        "resample": 3,
        **NORMALISE,
    }
    pixels = picture(height, width)
    long = int(30 * max(height, width) / min(height, width))
    size_by_hand = (long, 30) if width > height else (30, long)
    whole = by_hand(pixels, *size_by_hand, Image.Resampling.BICUBIC)
    top, left = (whole.shape[1] - 24) // 2, (whole.shape[2] - 24) // 2
    want = whole[:, top : top + 24, left : left + 24]
    np.testing.assert_allclose(made(settings, pixels), want, atol=1e-5)


def test_convnext_and_resnet_cut_off_an_eighth() -> None:
    settings = {
        "feature_extractor_type": "ConvNextFeatureExtractor",
        "size": 28,
        "crop_pct": 0.875,
        **NORMALISE,
    }
    pixels = picture(64, 64)
    want = by_hand(pixels, 32, 32, Image.Resampling.BILINEAR)[:, 2:30, 2:30]
    np.testing.assert_allclose(made(settings, pixels), want, atol=1e-5)
    large = made({**settings, "size": {"shortest_edge": 384}}, picture(20, 60))
    np.testing.assert_allclose(
        large, by_hand(picture(20, 60), 384, 384, Image.Resampling.BILINEAR), atol=1e-5
    )


def test_a_crop_larger_than_the_picture_is_filled_with_black() -> None:
    settings = {"size": {"height": 4, "width": 4}, "crop_size": 7, "do_normalize": False}
    x = made(settings, np.full((4, 4, 3), 255, np.uint8))
    assert x.shape == (3, 7, 7)
    np.testing.assert_allclose(x[0], np.pad(np.ones((4, 4)), ((2, 1), (2, 1))))


def test_switches() -> None:
    white = np.full((8, 8, 3), 255, np.uint8)
    assert made({"do_normalize": False}, white).max() == 1
    assert made({"do_normalize": False, "do_rescale": False}, white).max() == 255
    off = {"size": 12, "crop_size": 6, "do_center_crop": False}
    assert made(off, white).shape == (3, 12, 12)
    assert made({"do_resize": False, "size": 12}, white).shape == (3, 224, 224)


def test_pictures_of_all_shapes_fit_one_batch() -> None:
    for settings in ({"size": {"shortest_edge": 16}}, {"size": 16}, {"size": 20, "crop_size": 16}):
        shapes = {made(settings, picture(*hw)).shape for hw in ((9, 30), (30, 9), (16, 16))}
        assert shapes == {(3, 16, 16)}


def test_a_strip_is_refused_before_it_is_made_long() -> None:
    with pytest.raises(BadMedia, match="long and thin"):
        made({"size": {"shortest_edge": 224}}, np.zeros((2, 20_000, 3), np.uint8))


@pytest.mark.parametrize(
    "settings", [{"size": {"wide": 3}}, {"image_mean": [1]}, {"resample": 99}, {"size": "large"}]
)
def test_a_file_that_makes_no_sense(settings: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"preprocessor_config\.json cannot be understood"):
        ImageInput.from_settings(settings, side=(8, 8))
