"""Videos in and out: frames that carry their own number, and every way a file can be bad."""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from withhold.media.decode.clips import count_frames, decode_clip, each_window
from withhold.media.decode.encoded_clips import encode_clip
from withhold.media.windows import Window
from withhold.records.samples import BadMedia, Clip, Picture

SUFFIXES = (".mp4", ".m4v", ".mov", ".mkv", ".avi", ".webm")


def numbered(count: int = 40, height: int = 48, width: int = 64, rate: float = 25.0) -> Clip:
    """Frame i is grey at 5 i + 20."""
    levels = (5 * np.arange(count) + 20).astype(np.uint8)
    return Clip(
        np.broadcast_to(levels[:, None, None, None], (count, height, width, 3)).copy(), rate
    )


def numbers(clip: Clip) -> list[int]:
    return [round((float(frame.mean()) - 20) / 5) for frame in clip.frames]


def written(clip: Clip, form: str = "mp4", codec: str = "libx264", **given: Any) -> bytes:
    """A video that `encode_clip` would not write."""
    out = io.BytesIO()
    with av.open(out, "w", format=form, options=given.get("options", {})) as container:
        stream: Any = container.add_stream(codec, rate=Fraction(25))
        stream.height, stream.width = clip.frames.shape[1:3]
        stream.pix_fmt = "yuv420p"
        stream.options = given.get("settings", {})
        if "turn" in given:
            stream.set_display_rotation(given["turn"])
        for pixels in clip.frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))
    return out.getvalue()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_container_gives_back_its_frames(suffix: str, tmp_path: Path) -> None:
    data = encode_clip(numbered(rate=12.5), suffix)
    path = tmp_path / f"Grüße 視頻{suffix}"
    path.write_bytes(data)
    for content in (data, path):
        assert count_frames(content) == (40, 12.5)
        clip = decode_clip(content)
        assert clip.rate == 12.5
        assert clip.frames.shape == (40, 48, 64, 3)
        assert numbers(clip) == list(range(40))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_odd_size_stays(suffix: str) -> None:
    y, x = np.mgrid[:47, :63]
    picture = np.stack([4 * x, 5 * y, 2 * (x + y)], axis=-1).clip(0, 255).astype(np.uint8)
    back = decode_clip(encode_clip(Clip(np.stack([picture] * 3)), suffix)).frames
    assert back.shape == (3, 47, 63, 3)
    assert np.abs(back.astype(int) - picture).mean() < 3


@pytest.mark.slow
def test_the_bytes_do_not_depend_on_where_the_pixels_lie_in_memory() -> None:
    rng = np.random.default_rng(0)
    made: dict[tuple[str, int], set[bytes]] = {}
    held = []
    for shape in ((12, 48, 64, 3), (8, 47, 63, 3), (6, 33, 50, 3)):
        frames = rng.integers(0, 200, shape).astype(np.uint8)
        for suffix in (".mp4", ".avi", ".webm"):
            for offset in range(20):
                held.append(np.empty(int(rng.integers(1, 200_000)), np.uint8))
                moved = np.empty(frames.size + 64, np.uint8)[offset:][: frames.size].reshape(shape)
                moved[...] = frames
                made.setdefault((suffix, shape[0]), set()).add(encode_clip(Clip(moved), suffix))
    assert {len(found) for found in made.values()} == {1}


def test_the_same_clip_gives_the_same_bytes_without_metadata() -> None:
    data = encode_clip(numbered(), ".mp4")
    assert encode_clip(numbered(), ".MP4") == data
    with av.open(io.BytesIO(data)) as container:
        assert {stream.type for stream in container.streams} == {"video"}
        assert set(container.metadata) <= {"major_brand", "minor_version", "compatible_brands"}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_windows_have_the_frames_they_name(suffix: str) -> None:
    windows = [Window(3, 2, 1), Window(0, 16, 2), Window(0, 16, 2), Window(20, 5, 4)]
    clips = list(each_window(encode_clip(numbered(), suffix), windows))
    assert [numbers(c) for c in clips] == [list(w.numbers) for w in windows]
    assert [c.rate for c in clips] == [25.0, 12.5, 12.5, 6.25]


def test_a_decoded_clip_and_a_picture_have_windows_too() -> None:
    (cut,) = list(each_window(numbered(), [Window(4, 16, 2)]))
    assert numbers(cut) == list(range(4, 36, 2))
    picture = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    (still,) = list(each_window(Picture(picture), [Window(0, 16, 2)]))
    assert still.frames.shape == (16, 5, 7, 3)
    assert (still.frames == picture).all()
    with pytest.raises(BadMedia, match="frame 40 is needed"):
        list(each_window(numbered(), [Window(10, 16, 2)]))


def test_windows_come_one_by_one_before_the_file_is_read_to_its_end() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (40, 48, 64, 3), np.uint8)
    data = encode_clip(Clip(noise), ".mkv")
    found = each_window(data[: len(data) // 2], [Window(0, 4, 1), Window(30, 4, 1)])
    assert len(next(found).frames) == 4
    with pytest.raises(BadMedia):
        next(found)


def test_a_turned_video_is_turned_back() -> None:
    # A bright top-left quarter; shown turned a quarter against the clock it is at the bottom left.
    frames = np.zeros((4, 48, 64, 3), np.uint8)
    frames[:, :24, :32] = 255
    clip = decode_clip(written(Clip(frames), turn=90))
    assert clip.frames.shape == (4, 64, 48, 3)
    assert clip.frames[0, 40:, :20].mean() > 250
    assert clip.frames[0, :28].mean() < 5
    assert clip.frames[0, 40:, 28:].mean() < 5


def test_frames_in_fragments_are_all_counted() -> None:
    options = {"movflags": "frag_keyframe+empty_moov"}
    data = written(numbered(), options=options, settings={"g": "8"})
    assert count_frames(data) == (40, 25.0)
    (clip,) = each_window(data, [Window(30, 5, 2)])
    assert numbers(clip) == [30, 32, 34, 36, 38]
