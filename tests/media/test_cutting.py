from __future__ import annotations

import json
import os

import numpy as np
import pytest

from media_support import constant, videos, write_png, write_wav
from withhold.core.errors import UserError
from withhold.media.annotations import Annotations
from withhold.media.cutting import Cutting
from withhold.records.readers import Item
from withhold.records.samples import KINDS, BadMedia, Clip, Picture, Sound

ONE = next(videos(1).items())


def numbers(clip):
    """The frames that a clip of `videos` was made of."""
    return clip.frames[:, 0, 0, 1].tolist()


def test_a_picture_a_sound_and_a_text_are_one_record(tmp_path):
    wav = write_wav(tmp_path / "a.wav", constant(0.5))
    png = write_png(tmp_path / "a.png", 9)
    for kind, content, of in (
        ("sound", wav, Sound), ("sound", wav.read_bytes(), Sound), ("image", png, Picture),
        ("image", png.read_bytes(), Picture), ("text", b"hello", str), ("text", "hello", str),
    ):  # fmt: skip
        ((sample, labels),) = list(Cutting(kind).cut(Item("a", content), 0))
        assert isinstance(sample, of)
        assert labels == {}
        assert Cutting(kind).fields == []


def test_the_middle_of_a_video():
    ((clip, labels),) = list(Cutting("clip", 4, 2).cut(ONE, 0))
    assert numbers(clip) == [16, 18, 20, 22]  # 7 of 40 frames: 16 or 17 before and behind
    assert labels == {}
    assert clip.rate == 12.5


def test_windows_at_equal_distances():
    cutting = Cutting("clip", 4, 2, clips=10)
    found = list(cutting.cut(ONE, 0))
    assert len(found) == 10
    assert numbers(found[0][0]) == [0, 2, 4, 6]
    assert numbers(found[-1][0]) == [33, 35, 37, 39]
    starts = [numbers(clip)[0] for clip, _ in found]
    assert set(np.diff(starts)) <= {3, 4}
    assert [labels["frame"] for _, labels in found] == [start + 3 for start in starts]
    assert [f.name for f in cutting.fields] == ["frame"]


def test_a_window_for_every_stretch_with_labels(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"v.mp4": {"pose": [[0, 19, "sit"], [20, 39, "run"]], "who": 3}}))
    cutting = Cutting("clip", 4, 2, annotations=Annotations.read(path))
    found = list(cutting.cut(Item("sub/v.mp4", ONE.content), 0))
    assert {labels["pose"] for _, labels in found} == {"sit", "run"}
    for clip, labels in found:
        assert labels["who"] == 3
        assert (labels["frame"] < 20) == (labels["pose"] == "sit")
        assert labels["frame"] in range(numbers(clip)[0], numbers(clip)[-1] + 1)
    assert [(f.name, str(f.type)) for f in cutting.fields] == [
        ("frame", "int64"), ("pose", "string"), ("who", "int64"),
    ]  # fmt: skip
    with pytest.raises(BadMedia, match="no stretch of it is annotated"):
        list(cutting.cut(Item("w.mp4", ONE.content), 0))


def test_a_still_picture_is_a_clip_of_equal_frames(tmp_path):
    path = write_png(tmp_path / "a.png", 9)
    for content in (path, path.read_bytes()):
        found = list(Cutting("clip", 4, 2, clips=3).cut(Item("a.png", content), 0))
        assert len(found) == 3
        assert all(clip.frames.shape == (4, 6, 5, 3) for clip, _ in found)
        assert all((clip.frames == 9).all() for clip, _ in found)


def test_what_is_bad_says_why():
    with pytest.raises(BadMedia, match="there is none"):
        list(Cutting("sound").cut(Item("a", BadMedia("there is none")), 0))
    with pytest.raises(BadMedia, match="3 frames, 4 are needed"):
        list(Cutting("clip", 4, 2).cut(Item("a", Clip(ONE.content.frames[:3])), 0))
    with pytest.raises(BadMedia):
        list(Cutting("clip", 4, 2).cut(Item("a.png", b"no picture"), 0))


@pytest.mark.parametrize("kind", KINDS)
def test_a_pipe_does_not_stop_a_run(tmp_path, kind):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(BadMedia, match="not a file"):
            list(Cutting(kind).cut(Item(path.name, path), 0))
    with pytest.raises(BadMedia, match="No such file"):
        list(Cutting(kind).cut(Item("gone", tmp_path / "gone"), 0))


def test_the_state_tells_cuttings_apart(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"v": {"a": 1}}')
    cuttings = [
        Cutting("clip"), Cutting("clip", 8), Cutting("clip", 16, 1), Cutting("clip", clips=10),
        Cutting("clip", annotations=Annotations.read(path)),
    ]  # fmt: skip
    states = [json.dumps(c.state(), sort_keys=True) for c in cuttings]
    assert len(set(states)) == len(states)


def test_mistakes(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"v": {"a": 1}}')
    with pytest.raises(UserError, match="this extractor takes sounds"):
        Cutting("sound", clips=10)


def test_ten_windows_carry_the_labels_of_the_whole_video(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"v": {"pose": [[0, 9, "sit"], [10, 39, "run"]]}}')
    cutting = Cutting("clip", 4, 2, clips=3, annotations=Annotations.read(path))
    found = list(cutting.cut(Item("sub/v.mp4", ONE.content), 0))
    assert [labels["pose"] for _, labels in found] == ["run"] * 3
    assert [labels["frame"] for _, labels in found] == sorted(
        labels["frame"] for _, labels in found
    )
    with pytest.raises(BadMedia, match="it is not annotated"):
        list(cutting.cut(Item("w.mp4", ONE.content), 0))
