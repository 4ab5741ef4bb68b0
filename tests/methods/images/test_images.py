"""Image anonymisers on faces: planted boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from contracts.media_filter import KEY, values
from withhold.core.errors import UserError
from withhold.media.filters import gaussian_blur
from withhold.media.regions import Boxes
from withhold.methods import get_method, read_config
from withhold.methods.images.blacken import BlackenModifier
from withhold.methods.images.blur import BlurModifier
from withhold.records.samples import BadMedia, ByteArray, Clip, Picture


class White:
    """Takes everything white for one face: the box about it."""

    def boxes(self, pixels: ByteArray) -> Boxes:
        rows, columns = np.nonzero((pixels == 255).all(-1))
        if len(rows) == 0:
            return np.empty((0, 5))
        box = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1, 0.99]
        return np.array([box], np.float32)


def scene(x: int = 10, *, side: int = 20) -> ByteArray:
    """Grey noise with a white square at column x."""
    pixels = np.random.default_rng(0).integers(50, 200, (40, 80, 3)).astype(np.uint8)
    pixels[5 : 5 + side, x : x + side] = 255
    return pixels


def made(name: str, **settings: Any) -> Any:
    return get_method(name).modifier_type(read_config(name, settings), KEY, detector=White())  # type: ignore[call-arg]


def test_blacken_takes_the_share_of_the_box_and_nothing_else() -> None:
    for preset, side in (("adience-1.0", 20), ("adience-0.36", 12), ("adience-0.09", 6)):
        out = values(made("blacken", preset=preset).apply(Picture(scene())))
        black = (out == 0).all(-1)
        assert black.sum() == side**2
        assert black[15 - side // 2 : 15 + side // 2, 20 - side // 2 : 20 + side // 2].all()
        np.testing.assert_array_equal(out[~black], scene()[~black])


def test_blur_on_faces_is_the_blurred_image_there() -> None:
    out = values(made("blur", preset="spact-weak", region="faces").apply(Picture(scene())))
    blurred = gaussian_blur(scene(), 13, 10.0)
    expected = scene()
    expected[5:25, 10:30] = blurred[5:25, 10:30]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("missing", ["whole", "keep"])
def test_an_image_without_a_face(missing: str) -> None:
    bare = scene()[:, 40:]
    out = values(made("blacken", missing=missing).apply(Picture(bare)))
    np.testing.assert_array_equal(out, np.zeros_like(bare) if missing == "whole" else bare)


def test_an_image_without_a_face_can_be_refused() -> None:
    with pytest.raises(BadMedia, match="no face"):
        made("blacken", missing="refuse").apply(Picture(scene()[:, 40:]))


def test_a_face_that_is_missed_in_some_frames_is_hidden_in_all() -> None:
    frames = np.stack([scene(10 + 2 * t) for t in range(9)])
    hidden = frames.copy()
    hidden[3:6] = np.minimum(hidden[3:6], 254)  # not white any more: not found
    out = values(made("blacken").apply(Clip(hidden)))
    for t, frame in enumerate(out):
        assert not frame[5:25, 10 + 2 * t : 30 + 2 * t].any()
    assert (out == 0).all(-1).mean() < 1.2 * 20**2 / (40 * 80)


def test_a_share_of_a_box_needs_a_box() -> None:
    with pytest.raises(UserError, match="set region: faces"):
        read_config("blur", {"area": 0.5})


def test_an_even_kernel_is_refused() -> None:
    with pytest.raises(UserError, match=r"setting 'kernel' of method 'blur'.*odd.*not 4"):
        read_config("blur", {"kernel": 4})


def test_describing_one_on_faces_loads_no_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("withhold.media.face_detector.FaceDetector", None)
    one = BlackenModifier.from_state({}, {"area": 0.36}, KEY)
    assert one.settings() == {"region": "faces", "area": 0.36, "missing": "whole"}


def test_without_a_detector_named_it_uses_the_one_that_ships(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("withhold.media.face_detector.FaceDetector", White)
    one = BlurModifier.from_state({}, {"region": "faces"}, KEY)
    out = values(one.apply(Picture(scene())))
    np.testing.assert_array_equal(out[:, 40:], scene()[:, 40:])
    assert (out[5:25, 10:30] != 255).any()
