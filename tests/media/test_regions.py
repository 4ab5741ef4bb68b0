"""Where an anonymiser acts, and boxes that become tracks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from withhold.core.errors import UserError
from withhold.media.regions import (
    Boxes,
    Missing,
    Region,
    apply_in,
    box_overlaps,
    boxes_mask,
    moving_mask,
    track_boxes,
)
from withhold.records.samples import BadMedia, ByteArray


class Planted:
    """Finds what was planted, frame by frame."""

    def __init__(self, per_frame: Sequence[Boxes]) -> None:
        self.left = list(per_frame)

    def boxes(self, pixels: ByteArray) -> Boxes:
        return self.left.pop(0)


def box(x: float, y: float, side: float = 20.0, score: float = 0.9) -> list[float]:
    return [x, y, x + side, y + side, score]


def boxes(*some: list[float]) -> Boxes:
    return np.array(some, np.float32).reshape(-1, 5)


class TestMask:
    @pytest.mark.parametrize(("area", "side"), [(1.0, 100), (0.36, 60), (0.09, 30), (2.25, 150)])
    def test_the_area_is_a_share_of_the_box_about_its_centre(self, area: float, side: int) -> None:
        mask = boxes_mask((400, 300), boxes(box(100, 200, 100)), area)
        rows, columns = np.nonzero(mask)
        assert mask.sum() == side**2 == round(area * 100**2)
        assert (rows.min() + rows.max() + 1) / 2 == 250
        assert (columns.min() + columns.max() + 1) / 2 == 150

    def test_it_is_cut_at_the_edges(self) -> None:
        mask = boxes_mask((10, 12), boxes([-5, 4, 3, 99, 1.0], box(50, 50)))
        expected = np.zeros((10, 12), bool)
        expected[4:, :3] = True
        np.testing.assert_array_equal(mask, expected)

    def test_a_pixel_that_is_touched_is_in_it(self) -> None:
        mask = boxes_mask((6, 6), boxes([1.9, 1.9, 3.1, 3.1, 1.0]))
        assert np.flatnonzero(mask.any(0)).tolist() == [1, 2, 3]

    def test_several_boxes_add_up_and_none_is_nothing(self) -> None:
        both = boxes_mask((40, 80), boxes(box(0, 0), box(50, 10)))
        assert both.sum() == 2 * 20**2
        assert not boxes_mask((40, 80), boxes()).any()

    def test_apply_in_takes_each_pixel_from_one_of_the_two(self) -> None:
        mask = np.array([[True, False]])
        one, other = np.full((1, 2, 3), 1, np.uint8), np.full((1, 2, 3), 2, np.uint8)
        assert apply_in(one, other, mask).tolist() == [[[2, 2, 2], [1, 1, 1]]]


class TestTracks:
    def test_missed_frames_are_filled_on_the_straight_line(self) -> None:
        path = [boxes(box(3 * t, 10 + t)) for t in range(12)]
        seen = [b if t not in (4, 5, 6, 9) else boxes() for t, b in enumerate(path)]
        for found, true in zip(track_boxes(seen), path, strict=True):
            np.testing.assert_allclose(found, true, atol=1e-4)

    def test_the_first_and_last_box_last_to_the_ends(self) -> None:
        seen = [boxes()] * 10 + [boxes(box(30, 40))] * 2 + [boxes()] * 8
        for found in track_boxes(seen):
            np.testing.assert_allclose(found, boxes(box(30, 40)))

    def test_jitter_is_reduced(self) -> None:
        rng = np.random.default_rng(0)
        true = np.stack([boxes(box(2 * t, 50)) for t in range(60)])
        jitter = np.zeros(true.shape)
        jitter[..., :4] = rng.normal(0, 1.5, (60, 1, 4))
        found = np.stack(track_boxes(list(true + jitter)))
        assert found.shape == true.shape
        # The mean of five independent errors has 1 / sqrt(5) of their deviation.
        assert (found - true)[..., :4].std() < 0.55 * jitter[..., :4].std()

    def test_two_faces_are_kept_apart_whatever_their_order(self) -> None:
        seen = []
        for t in range(10):
            pair = [box(10 + 2 * t, 0), box(90 - 2 * t, 60)]
            seen.append(boxes(*(pair if t % 2 else pair[::-1])))
        seen[3] = seen[3][1:]  # one of them is missed once
        found = np.stack(track_boxes(seen))
        assert found.shape == (10, 2, 5)
        left, right = sorted(found.transpose(1, 0, 2), key=lambda track: track[0, 0])
        np.testing.assert_allclose(left[:, 0], 10 + 2 * np.arange(10), atol=1e-4)
        np.testing.assert_allclose(right[:, 0], 90 - 2 * np.arange(10), atol=1e-4)

    def test_each_of_two_that_overlap_takes_the_better_one(self) -> None:
        seen = [boxes(box(0, 0), box(8, 0)), boxes(box(9, 0), box(1, 0))]
        found = np.stack(track_boxes(seen, smooth=1))
        np.testing.assert_allclose(found[:, :, 0], [[0, 8], [1, 9]])

    def test_a_jump_gives_two_tracks_that_both_last(self) -> None:
        seen = [boxes(box(0, 0))] * 3 + [boxes(box(70, 70))] * 3
        for found in track_boxes(seen):
            np.testing.assert_allclose(found, boxes(box(0, 0), box(70, 70)))

    def test_one_frame_and_no_box_are_no_problem(self) -> None:
        np.testing.assert_allclose(track_boxes([boxes(box(1, 2))])[0], boxes(box(1, 2)))
        assert [len(b) for b in track_boxes([boxes(), boxes()])] == [0, 0]
        assert track_boxes([]) == []

    def test_overlaps(self) -> None:
        some = boxes([0, 0, 2, 2, 1], [1, 0, 3, 2, 1], [5, 5, 6, 6, 1], [1, 1, 1, 1, 1])
        expected = [[1, 1 / 3, 0, 0], [1 / 3, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
        np.testing.assert_allclose(box_overlaps(some, some), expected)


class TestRegion:
    frames = np.zeros((3, 40, 60, 3), np.uint8)

    def test_the_whole_is_everything(self) -> None:
        assert Region("whole").masks(self.frames).all()

    def test_faces_are_their_tracks(self) -> None:
        faces = Planted([boxes(box(0, 0)), boxes(), boxes(box(4, 0))])
        masks = Region("faces", detector=faces).masks(self.frames)
        assert masks.shape == (3, 40, 60)
        assert [np.flatnonzero(m.any(0))[0] for m in masks] == [0, 2, 4]
        assert (masks.sum((1, 2)) == 400).all()

    @pytest.mark.parametrize(("missing", "share"), [("whole", 1.0), ("keep", 0.0)])
    def test_what_becomes_of_an_image_without_a_face(self, missing: str, share: float) -> None:
        region = Region("faces", missing=missing, detector=Planted([boxes()] * 3))  # type: ignore[arg-type]
        assert region.masks(self.frames).mean() == share

    def test_an_image_without_a_face_can_be_refused(self) -> None:
        region = Region("faces", missing="refuse", detector=Planted([boxes()] * 3))
        with pytest.raises(BadMedia, match="no face is found"):
            region.masks(self.frames)

    def test_a_region_that_cannot_be_is_refused(self) -> None:
        with pytest.raises(UserError, match="needs a face detector"):
            Region("faces")
        with pytest.raises(UserError, match="above 0"):
            Region("faces", area=0, detector=Planted([]))


class TestMoving:
    def frames(self) -> ByteArray:
        """A square of 10 pixels moves from column 20 to 29, in noise of a few levels."""
        rng = np.random.default_rng(0)
        pixels = rng.integers(100, 108, (10, 80, 100, 3), dtype=np.uint8)
        for t in range(10):
            pixels[t, 30:40, 20 + t : 30 + t] = 220
        return pixels

    def test_all_that_the_square_covers_and_little_more(self) -> None:
        mask = moving_mask(self.frames())
        assert mask[30:40, 20:39].all()
        rows, columns = np.nonzero(mask)
        assert (rows.min(), rows.max()) >= (24, 40)
        assert rows.min() >= 23
        assert rows.max() <= 46
        assert columns.min() >= 13
        assert columns.max() <= 45

    def test_the_region_is_the_same_in_every_frame(self) -> None:
        frames = self.frames()
        masks = Region("moving").masks(frames)
        assert masks.shape == frames.shape[:3]
        np.testing.assert_array_equal(masks, np.broadcast_to(moving_mask(frames), masks.shape))

    @pytest.mark.parametrize(("missing", "share"), [("whole", 1.0), ("keep", 0.0)])
    def test_where_nothing_moves(self, missing: Missing, share: float) -> None:
        still = np.repeat(self.frames()[:1], 5, axis=0)
        assert Region("moving", missing=missing).masks(still).mean() == share
        assert Region("moving", missing=missing).masks(still[:1]).mean() == share
        with pytest.raises(BadMedia, match="nothing moves in it"):
            Region("moving", missing="refuse").masks(still)

    def test_a_moving_camera_moves_everything(self) -> None:
        rng = np.random.default_rng(0)
        wide = rng.integers(0, 256, (6, 40, 1), dtype=np.uint8).repeat(16, axis=0).repeat(8, axis=1)
        pixels = np.stack([np.roll(wide, 8 * t, axis=1)[:, :100] for t in range(8)])
        assert Region("moving").masks(pixels.repeat(3, axis=-1)).all()
