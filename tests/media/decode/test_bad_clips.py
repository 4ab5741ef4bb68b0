"""Every way a video can be bad: refused with a reason in one line, whatever is asked of it."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from withhold.media.decode.clips import count_frames, decode_clip, each_window
from withhold.media.decode.encoded_clips import encode_clip
from withhold.media.windows import Window
from withhold.records.samples import BadMedia, Clip

RNG = np.random.default_rng(0)
NOISE = Clip(RNG.integers(0, 256, (40, 48, 64, 3), np.uint8))
Made = Path | bytes


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def index_first(folder: Path) -> Path:
    """An MP4 whose index is before its frames, so that a cut leaves it whole."""
    path = folder / "front.mp4"
    with av.open(path, "w", options={"movflags": "faststart"}) as container:
        stream: Any = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for pixels in NOISE.frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def only_sound(_: Path) -> bytes:
    out = io.BytesIO()
    with av.open(out, "w", format="mov") as container:
        track: Any = container.add_stream("pcm_s16le", rate=8000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), "s16", "mono")
        frame.rate = 8000
        container.mux([*track.encode(frame), *track.encode(None)])
    return out.getvalue()


def says_it_is_huge(codec: str) -> bytes:
    """An AVI of 64x48 whose header claims 12,000 a side."""
    out = io.BytesIO()
    with av.open(out, "w", format="avi") as container:
        stream: Any = container.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for pixels in NOISE.frames[:16]:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))
    data = bytearray(out.getvalue())
    header = data.index(b"strf") + 12
    data[header : header + 8] = (12_000).to_bytes(4, "little") * 2
    return bytes(data)


def loop(folder: Path) -> Path:
    path = folder / "loop.mp4"
    path.symlink_to(path)
    return path


NOT_VIDEO = "cannot be read as video"
CASES: dict[str, tuple[Callable[[Path], Made], str]] = {
    "empty": (lambda _: b"", "the file is empty"),
    "missing": (lambda folder: folder / "none.mp4", "cannot be read: No such file"),
    "folder": (lambda folder: folder, "cannot be read: Is a directory"),
    "loop": (loop, "cannot be read: Too many levels"),
    "text": (lambda _: b"hello\n" * 100, NOT_VIDEO),
    "noise": (lambda _: NOISE.frames.tobytes()[:5000], NOT_VIDEO),
    "playlist": (lambda f: f"#EXTM3U\n#EXTINF:9,\n{index_first(f)}\n".encode(), NOT_VIDEO),
    "concat list": (lambda f: f"ffconcat version 1.0\nfile {index_first(f)}\n".encode(), NOT_VIDEO),
    "sound only": (only_sound, "no video"),
    "cut, index kept": (lambda folder: half(index_first(folder).read_bytes()), "truncated|broken"),
    "cut, index lost": (lambda _: half(encode_clip(NOISE, ".mp4")), NOT_VIDEO),
    "cut avi": (lambda _: half(encode_clip(NOISE, ".avi")), "truncated|can(not)? be decoded"),
    "too large": (
        lambda _: encode_clip(Clip(np.zeros((1, 2400, 4112, 3), np.uint8)), ".avi"),
        "frames of 4112x2400 are larger",
    ),
    "says it is huge": (lambda _: says_it_is_huge("rawvideo"), "frames of 12000x12000 are larger"),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused_with_its_reason(case: str, tmp_path: Path) -> None:
    make, reason = CASES[case]
    content = make(tmp_path)
    for read in (count_frames, decode_clip, lambda c: list(each_window(c, [Window(8, 16, 2)]))):
        with pytest.raises(BadMedia, match=reason) as caught:
            read(content)  # type: ignore[operator]
        assert "\n" not in str(caught.value)


def test_a_stream_that_knows_better_than_its_header_is_believed() -> None:
    assert decode_clip(says_it_is_huge("mpeg4")).frames.shape == (16, 48, 64, 3)


def test_bounds_are_the_callers() -> None:
    data = encode_clip(NOISE, ".webm")
    with pytest.raises(BadMedia, match="more than 39 frames"):
        decode_clip(data, most_frames=39)
    with pytest.raises(BadMedia, match="more than 39 frames"):
        count_frames(data, most_frames=39)
    with pytest.raises(BadMedia, match="more than 39 frames"):
        count_frames(encode_clip(NOISE, ".mp4"), most_frames=39)
    with pytest.raises(BadMedia, match="64x48 are larger than 3071 pixels"):
        list(each_window(data, [Window(0)], most_pixels=48 * 64 - 1))
    assert len(decode_clip(data, most_frames=40, most_pixels=48 * 64).frames) == 40


def test_a_whole_video_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("withhold.media.decode.clips._MOST_BYTES", NOISE.frames.nbytes - 1)
    with pytest.raises(BadMedia, match="when decoded"):
        decode_clip(encode_clip(NOISE, ".mp4"))


def test_a_window_past_the_end_says_how_many_frames_there_are() -> None:
    with pytest.raises(BadMedia, match=r"^40 frames can be decoded, frame 40 is needed"):
        list(each_window(encode_clip(NOISE, ".mp4"), [Window(10, 16, 2)]))


@pytest.mark.parametrize("suffix", [".wmv", ".gif", ""])
def test_a_container_that_is_not_written_is_refused(suffix: str) -> None:
    with pytest.raises(BadMedia, match=r"only as \.mp4"):
        encode_clip(NOISE, suffix)
    with pytest.raises(BadMedia, match="without frames"):
        encode_clip(Clip(NOISE.frames[:0]), ".mp4")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp4")
    (tmp_path / "zero.mp4").symlink_to("/dev/zero")
    for name in ("pipe.mp4", "zero.mp4"):
        with pytest.raises(BadMedia, match="not a file"):
            decode_clip(tmp_path / name)
