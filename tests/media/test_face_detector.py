"""The face detector: where faces are found, and where not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from media.drawn_face import drawn_face
from withhold.learn.nets.device import threads
from withhold.media.decode.pictures import decode_picture
from withhold.media.face_detector import FaceDetector
from withhold.records.samples import ByteArray


@pytest.fixture(scope="module")
def detector() -> FaceDetector:
    return FaceDetector()


def noise(seed: int, height: int = 120, width: int = 150) -> ByteArray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def scene(*places: tuple[int, int, int]) -> ByteArray:
    """Faces of some sizes, at x and y, on a plain ground."""
    pixels = np.full((300, 500, 3), (90, 110, 130), np.uint8)
    for x, y, side in places:
        pixels[y : y + side, x : x + side] = drawn_face(side=side)
    return pixels


def test_the_same_box_as_facenet_pytorch_finds(detector: FaceDetector) -> None:
    """The numbers are those of its MTCNN, version 2.6.0, on the same pixels."""
    found = detector.boxes(drawn_face())
    assert found.shape == (1, 5)
    np.testing.assert_allclose(found[0, :4], [60.391, 46.422, 177.665, 204.437], atol=0.5)
    assert abs(found[0, 4] - 0.99935) < 1e-3


def test_faces_of_several_sizes_where_they_are(detector: FaceDetector) -> None:
    places = [(10, 20, 240), (280, 30, 120), (400, 200, 90)]
    found = detector.boxes(scene(*places))
    assert len(found) == 3
    assert (np.diff(found[:, 4]) <= 0).all()
    middles = (found[:, :2] + found[:, 2:4]) / 2
    for x, y, side in places:
        middle = np.array([x + side * 0.5, y + side * 0.52])
        assert np.abs(middles - middle).max(axis=1).min() < 0.1 * side


def test_a_small_picture_gives_boxes_in_its_own_pixels(detector: FaceDetector) -> None:
    small = drawn_face(side=60)
    found = detector.boxes(small)[0]
    np.testing.assert_allclose(found[:4] * 4, detector.boxes(drawn_face())[0, :4], atol=24)
    large = FaceDetector(most_side=200).boxes(drawn_face(side=480))[0]
    np.testing.assert_allclose(large[:4] / 2, detector.boxes(drawn_face())[0, :4], atol=12)


def test_boxes_stay_inside_the_picture(detector: FaceDetector) -> None:
    cut = np.ascontiguousarray(drawn_face()[60:195, 60:175])
    for x0, y0, x1, y1, probability in detector.boxes(cut):
        assert 0 <= x0 < x1 <= 115
        assert 0 <= y0 < y1 <= 135
        assert 0.7 < probability <= 1


def test_no_face_where_there_is_none(detector: FaceDetector) -> None:
    for pixels in (noise(0), noise(1, 64, 64), np.zeros((90, 90, 3), np.uint8), scene()):
        found = detector.boxes(pixels)
        assert found.shape == (0, 5)
        assert found.dtype == np.float32


@pytest.mark.parametrize("shape", [(2, 2), (2, 3000), (5, 40)])
def test_odd_shapes(detector: FaceDetector, shape: tuple[int, int]) -> None:
    assert detector.boxes(noise(2, *shape)).shape[1] == 5


def test_threads_change_nothing(detector: FaceDetector) -> None:
    pictures = [drawn_face(seed, side=120 + 10 * seed) for seed in range(4)] * 3
    with threads(1):
        alone = [detector.boxes(pixels) for pixels in pictures]
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(detector.boxes, pictures))
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.realdata
def test_real_faces_are_found(realdata: Path, detector: FaceDetector) -> None:
    table = pq.read_table(realdata / "utkface_12000_64px.parquet", columns=["jpeg"])
    pictures = [decode_picture(data).pixels for data in table["jpeg"].slice(0, 50).to_pylist()]
    found = [detector.boxes(pixels) for pixels in pictures]
    assert sum(len(boxes) > 0 for boxes in found) >= 45
    assert sum(len(detector.boxes(noise(seed, 64, 64))) for seed in range(10)) == 0
