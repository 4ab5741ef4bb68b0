"""frame-stats: the contract, and what still and moving clips must give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from contracts.extractor import ExtractorContract
from withhold.core.errors import UserError
from withhold.media.extractors.extractor import Extractor
from withhold.media.extractors.frame_stats import FrameStats
from withhold.records.samples import BadMedia, Clip, Picture, Sample

SCENE, QUARTERS, MOTION, COLOUR = (
    slice(0, 144), slice(144, 720), slice(720, 912), slice(912, 976)
)  # fmt: skip


def of(frames: np.ndarray) -> np.ndarray:
    extractor = FrameStats()
    return extractor.finish(extractor.forward([extractor.prepare(Clip(frames))]))[0]


class TestFrameStats(ExtractorContract):
    @classmethod
    def make(cls) -> Extractor:
        return FrameStats()

    @classmethod
    def samples(cls, n: int, seed: int) -> list[Sample]:
        rng = np.random.default_rng(seed)
        sizes = [(48, 64), (30, 30), (24, 32), (1, 1)]
        return [Clip(rng.integers(0, 256, (16 + i, *sizes[i % 4], 3), np.uint8)) for i in range(n)]


def test_the_features_have_unit_length_and_equal_parts() -> None:
    x = of(np.random.default_rng(0).integers(0, 256, (16, 48, 64, 3), np.uint8))
    assert len(x) == 976
    for part in (SCENE, QUARTERS, MOTION, COLOUR):
        assert np.linalg.norm(x[part]) == pytest.approx(0.5, abs=1e-5)


def test_a_still_clip_has_no_motion_and_no_change() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
    x = of(np.stack([picture] * 16))
    assert np.abs(x[MOTION]).max() == 0
    assert np.linalg.norm(x[SCENE]) == pytest.approx(np.linalg.norm(x[COLOUR]), abs=1e-5)
    # A clip of one colour has nothing but that colour.
    x = of(np.full((16, 48, 64, 3), (255, 0, 0), np.uint8))
    assert np.flatnonzero(x).tolist() == [COLOUR.start + 3 * 16]


def test_motion_is_where_and_when_it_is() -> None:
    frames = np.zeros((16, 48, 64, 3), np.uint8)
    frames[8:12:2, :8, 56:] = 255  # the top right cell blinks in the third quarter
    motion = of(frames)[MOTION].reshape(4, 6, 8)
    assert np.unravel_index(motion.argmax(), motion.shape) == (2, 0, 7)
    assert motion[[0, 1, 3]].max() == 0
    # Resizing reaches a little into the cells beside it, and no further.
    assert motion[2, 2:].max() == 0
    assert motion[2, :, :6].max() == 0


def test_the_size_of_the_video_does_not_matter() -> None:
    cells = np.random.default_rng(0).integers(0, 256, (16, 6, 8, 3), np.uint8)
    small, large = (cells.repeat(k, axis=1).repeat(k, axis=2) for k in (4, 16))
    assert of(small) @ of(large) > 0.95
    assert of(small) @ of(small[::-1]) < 0.8


def test_what_is_no_clip_of_16_frames_is_refused() -> None:
    with pytest.raises(BadMedia, match="5 frames, 16 are needed"):
        of(np.zeros((5, 8, 8, 3), np.uint8))
    with pytest.raises(BadMedia, match="no pixels"):
        of(np.zeros((16, 0, 8, 3), np.uint8))
    with pytest.raises(UserError, match="a clip is needed, not a picture"):
        FrameStats().prepare(Picture(np.zeros((8, 8, 3), np.uint8)))


@pytest.mark.realdata
def test_signs_and_signers_can_be_told_apart(realdata: Path) -> None:
    with np.load(realdata / "lsa64_10signs_16x48x64_u8.npz") as data:
        clips, repetition = data["X"], data["repetition"]
        labels = {name: data[name] for name in ("sign", "signer")}
    extractor = FrameStats()
    x = extractor.forward([extractor.prepare(Clip(frames)) for frames in clips])
    train = repetition <= 3
    nearest = (x[~train] @ x[train].T).argmax(axis=1)
    for found in labels.values():
        assert (found[train][nearest] == found[~train]).mean() > 0.6
