"""Clips next to each other: every version in its column, frame by frame."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from withhold.core.errors import UserError
from withhold.media.contact_sheet import MARGIN
from withhold.media.decode.clips import decode_clip
from withhold.media.side_by_side import side_by_side, write_side_by_side
from withhold.records.samples import Clip

SIDE = 40


def clip(level: int, frames: int = 6, height: int = 20, width: int = 20) -> Clip:
    """Frame t is grey at level + 10 t."""
    levels = (level + 10 * np.arange(frames)).astype(np.uint8)
    shape = (frames, height, width, 3)
    return Clip(np.broadcast_to(levels[:, None, None, None], shape).copy(), 12.5)


def middle(whole: Clip, column: int, row: int, columns: int) -> list[int]:
    """The grey in the middle of a place, by frame."""
    width = whole.frames.shape[2] // columns
    top = whole.frames.shape[1] - (2 - row) * (SIDE + MARGIN)
    left = column * width + MARGIN
    here = whole.frames[:, top + SIDE // 2, left + SIDE // 2, 0]
    return here.tolist()


def test_every_version_plays_at_the_same_time() -> None:
    columns = {
        "original": [clip(10), clip(100)],
        "a label that is longer than its column": [clip(50, frames=3), None],
    }
    whole = side_by_side(columns, side=SIDE)
    assert whole.rate == 12.5
    assert len(whole.frames) == 6
    assert whole.frames.shape[1] % 2 == whole.frames.shape[2] % 2 == 0
    assert middle(whole, 0, 0, 2) == [10, 20, 30, 40, 50, 60]
    assert middle(whole, 0, 1, 2) == [100, 110, 120, 130, 140, 150]
    assert middle(whole, 1, 0, 2) == [50, 60, 70, 70, 70, 70]  # the shorter one stops
    assert middle(whole, 1, 1, 2) == [255] * 6  # it has no second clip
    label = whole.frames[0, :20]
    assert (label < 100).any()
    assert (whole.frames[:, :20] == label).all()


def test_a_wide_clip_keeps_its_shape() -> None:
    whole = side_by_side({"wide": clip(0, height=10, width=20)}, side=SIDE)
    place = whole.frames[0, 20 : 20 + SIDE, MARGIN : MARGIN + SIDE, 0]
    assert (place[: SIDE // 2] == 0).all()
    assert (place[SIDE // 2 :] == 255).all()


def test_as_video_gif_and_frames(tmp_path: Path) -> None:
    whole = side_by_side({"one": clip(20), "two": clip(120)}, side=SIDE)
    write_side_by_side(whole, tmp_path / "both.mp4")
    assert decode_clip(tmp_path / "both.mp4").frames.shape == whole.frames.shape
    write_side_by_side(whole, tmp_path / "both.gif")
    with Image.open(tmp_path / "both.gif") as gif:
        assert gif.n_frames == 6  # type: ignore[attr-defined]
        assert gif.info["duration"] == 80
        assert gif.info["loop"] == 0
        gif.seek(3)
        back = np.asarray(gif.convert("RGB"), int)
    assert np.abs(back - whole.frames[3]).mean() < 3
    write_side_by_side(whole, tmp_path / "frames")
    assert len(list((tmp_path / "frames").iterdir())) == 6
    one = np.asarray(Image.open(tmp_path / "frames" / "0005.png").convert("RGB"))
    np.testing.assert_array_equal(one, whole.frames[5])


def test_nothing_to_show() -> None:
    with pytest.raises(UserError, match="no clip to show"):
        side_by_side({"original": [None]})
