"""The person detector: where people are found, and what is said without it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from withhold.core.errors import UserError
from withhold.media import person_detector
from withhold.media.person_detector import PersonDetector
from withhold.media.regions import box_overlaps
from withhold.methods import get_method, read_config
from withhold.records.samples import ByteArray, Clip

pytest.importorskip("cv2", reason="the extra `person`")


def standing(height: int = 256, width: int = 320, *feet: tuple[int, int, float]) -> ByteArray:
    """Dark silhouettes on a light ground: the column, the row of the feet, and the size."""
    pixels = np.full((height, width, 3), 220, np.uint8)
    y, x = np.mgrid[:height, :width]
    for column, foot, size in feet:
        u, v = (x - column) / size, (foot - y) / size  # v: 0 at the feet, 160 at the top
        head = (u / 11) ** 2 + ((v - 145) / 14) ** 2 < 1
        body = (u / 24) ** 2 + ((v - 95) / 40) ** 2 < 1
        legs = (np.abs(np.abs(u) - 9) < 7) & (v > 0) & (v < 75)
        pixels[head | body | legs] = 60
    return pixels


def box_of(column: int, foot: int, size: float) -> list[float]:
    return [column - 24 * size, foot - 160 * size, column + 24 * size, foot, 1.0]


@pytest.fixture(scope="module")
def detector() -> PersonDetector:
    return PersonDetector()


def test_people_where_they_are(detector: PersonDetector) -> None:
    people = [(80, 230, 1.0), (230, 240, 1.2)]
    found = detector.boxes(standing(256, 320, *people))
    assert found.dtype == np.float32
    assert found.shape == (len(found), 5)
    assert (np.diff(found[:, 4]) <= 0).all()
    inside = box_overlaps(np.array([box_of(*p) for p in people]), found, of_the_smaller=True)
    assert (inside.max(axis=1) > 0.9).all()
    assert (found[:, 4] > 1).sum() >= 2


def test_small_pictures_are_enlarged(detector: PersonDetector) -> None:
    found = detector.boxes(standing(64, 80, (40, 58, 0.27)))
    assert box_overlaps(np.array([box_of(40, 58, 0.27)]), found, of_the_smaller=True).max() > 0.9
    assert (found[:, :4] >= 0).all()
    assert (found[:, [0, 2]] <= 80).all()
    assert (found[:, [1, 3]] <= 64).all()


@pytest.mark.parametrize("size", [(1, 1), (3, 400), (300, 2), (250, 250)])
def test_nobody_is_found_where_nobody_is(detector: PersonDetector, size: tuple[int, int]) -> None:
    assert detector.boxes(np.full((*size, 3), 128, np.uint8)).shape == (0, 5)


def test_threads_find_the_same(detector: PersonDetector) -> None:
    pixels = standing(256, 320, (80, 230, 1.0), (230, 240, 1.2))
    expected = detector.boxes(pixels).tobytes()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: detector.boxes(pixels).tobytes(), range(8)))
    assert {*found} == {expected}


def test_blacken_and_blur_change_people_only() -> None:
    """A person walks; the place where nobody comes is left as it was."""
    frames = np.stack([standing(256, 320, (60 + 4 * t, 230, 1.0)) for t in range(4)])
    for method, preset in (("blacken", "spact"), ("blur", "spact-people-strong")):
        config = read_config(method, {"preset": preset})
        modifier = get_method(method).modifier_type(config, bytes(32))  # type: ignore[call-arg]
        (out,) = modifier.transform([Clip(frames)])
        assert isinstance(out, Clip)
        for t in range(4):
            column = 60 + 4 * t
            body = (slice(80, 200), slice(column - 20, column + 20))
            changed = np.abs(out.frames[t][body].astype(int) - frames[t][body])
            assert changed.mean() > (50 if method == "blacken" else 5)
        np.testing.assert_array_equal(out.frames[:, :, 250:], frames[:, :, 250:])


@pytest.mark.parametrize("missing", [True, False])
def test_without_the_package(monkeypatch: pytest.MonkeyPatch, missing: bool) -> None:
    def absent(name: str) -> object:
        if missing:
            raise ImportError(name)
        return SimpleNamespace(__version__="5.0.0")

    monkeypatch.setattr(person_detector, "import_module", absent)
    said = r"needs the package opencv" if missing else r"opencv 5.0.0 has no people detector"
    with pytest.raises(UserError, match=said + r".*below 5.*withhold\[person\]"):
        PersonDetector()
