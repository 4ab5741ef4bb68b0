"""Unusual videos: each is handled as a player would, or skipped with a reason."""

from __future__ import annotations

import io
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import pytest

from withhold.actions.fit import fit_bundle
from withhold.core.progress import Silent
from withhold.media.decode.clips import count_frames, decode_clip, each_window
from withhold.media.decode.encoded_clips import encode_clip
from withhold.media.extract_features import plan
from withhold.media.to_file import extract_to
from withhold.media.windows import Window
from withhold.records.dataset import Dataset
from withhold.records.readers import open_media
from withhold.records.roles import Roles
from withhold.records.samples import BadMedia, Clip
from withhold.release.media_stream import release_media
from withhold.release.wishes import Wishes

LEVELS = 5 * np.arange(40) + 20  # the grey of frame i
FORMS = [("mp4", "libx264"), ("matroska", "libx264"), ("avi", "mpeg4")]


def grey(count: int = 40) -> npt.NDArray[np.uint8]:
    levels = LEVELS[:count].astype(np.uint8)
    return np.broadcast_to(levels[:, None, None, None], (count, 48, 64, 3)).copy()


def numbers(clip: Clip) -> list[int]:
    return [round((float(frame.mean()) - 20) / 5) for frame in clip.frames]


def moving() -> npt.NDArray[np.uint8]:
    """Frames of coarse noise that moves, so that every frame holds new pixels."""
    base = np.random.default_rng(0).integers(0, 256, (6, 8, 3), np.uint8)
    some = [np.kron(np.roll(base, i, axis=1), np.ones((8, 8, 1), np.uint8)) for i in range(40)]
    return np.stack(some)


def video(
    frames: npt.NDArray[np.uint8],
    form: str = "mp4",
    codec: str = "libx264",
    *,
    times: Sequence[int] | None = None,  # in milliseconds
    turn: int | None = None,
    sound: bool = False,
) -> bytes:
    out = io.BytesIO()
    with av.open(out, "w", format=form) as container:
        stream: Any = container.add_stream(codec, rate=25)
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = "yuv420p"
        if times is not None:
            stream.codec_context.time_base = Fraction(1, 1000)
        if turn is not None:
            stream.set_display_rotation(turn)
        track: Any = container.add_stream("aac", rate=8000, layout="mono") if sound else None
        for number, pixels in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            if times is not None:
                frame.pts, frame.time_base = times[number], Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
        if track is not None:  # much longer than the pictures
            wave = np.sin(np.arange(40_000) / 3)[None].astype(np.float32)
            heard = av.AudioFrame.from_ndarray(wave, "fltp", "mono")
            heard.rate = 8000
            container.mux([*track.encode(heard), *track.encode(None)])
    return out.getvalue()


def with_broken_packet(data: bytes, number: int, *, skip: float = 0.0) -> bytes:
    """The video with noise in place of what one packet holds, from a share of it on."""
    with av.open(io.BytesIO(data)) as container:
        packets = [p for p in container.demux(container.streams.video[0]) if p.size]
        place, size = packets[number].pos, packets[number].size
    assert place is not None
    start = place + int(skip * size)
    noise = np.random.default_rng(1).bytes(place + size - start)
    return data[:start] + noise + data[place + size :]


class TestVariableFrameRate:
    """Two of three frames follow after 20 ms, the third after 200: 12.4 frames a second."""

    times = np.cumsum([0] + [200 if i % 3 == 0 else 20 for i in range(39)]).tolist()

    @pytest.mark.parametrize(("form", "codec"), FORMS[:2])
    def test_frames_keep_their_numbers(self, form: str, codec: str) -> None:
        data = video(grey(), form, codec, times=self.times)
        assert count_frames(data)[0] == 40
        (window,) = each_window(data, [Window(5, 10, 3)])
        assert numbers(window) == list(range(5, 35, 3))

    @pytest.mark.parametrize(("form", "codec"), FORMS[:2])
    def test_a_release_takes_as_long(self, form: str, codec: str) -> None:
        clip = decode_clip(video(grey(), form, codec, times=self.times))
        assert numbers(clip) == list(range(40))
        assert clip.rate == pytest.approx(39 / (self.times[-1] / 1000), rel=0.06)
        again = decode_clip(encode_clip(clip, ".mp4"))
        assert again.rate == pytest.approx(clip.rate, rel=1e-3)

    def test_a_steady_rate_is_the_stated_one(self) -> None:
        assert decode_clip(encode_clip(Clip(grey(), 23.976), ".mkv")).rate == pytest.approx(23.976)


class TestSound:
    @pytest.mark.parametrize(("form", "codec"), FORMS[:2])
    def test_a_sound_track_changes_nothing(self, form: str, codec: str) -> None:
        with_sound = video(grey(), form, codec, sound=True)
        assert count_frames(with_sound)[0] == 40
        clip = decode_clip(with_sound)
        np.testing.assert_array_equal(clip.frames, decode_clip(video(grey(), form, codec)).frames)

    def test_a_release_has_no_sound(self, tmp_path: Path) -> None:
        folder = tmp_path / "clips"
        for person in ("ann", "bob"):
            (folder / person).mkdir(parents=True)
            for i in range(6):
                (folder / person / f"{i}.mp4").write_bytes(video(grey(8), sound=True))
        data = Dataset.of_media(open_media(folder, "clip", pattern="{person}/*"))
        bundle = fit_bundle(data, Roles.of("person", ""), method="blur", key=bytes(32))
        wishes = Wishes.of(keep_labels=True)
        release_media(bundle, data, tmp_path / "out", wishes=wishes, progress=Silent())
        released = sorted((tmp_path / "out").rglob("*.mp4"))
        assert len(released) == 12
        for path in released:
            with av.open(path) as container:
                assert {stream.type for stream in container.streams} == {"video"}


class TestTurned:
    @pytest.mark.parametrize("turn", [0, 90, 180, 270, -90])
    def test_it_is_read_as_a_player_shows_it(self, turn: int) -> None:
        frames = np.zeros((20, 48, 64, 3), np.uint8)
        frames[:, :24, :32] = 255
        data = video(frames, turn=turn)
        shown = np.rot90(frames[0], (turn // 90) % 4)
        (window,) = each_window(data, [Window(2, 4, 2)])
        for clip in (decode_clip(data), window):
            assert clip.frames.shape[1:] == shown.shape
            assert np.abs(clip.frames[0].astype(int) - shown).mean() < 4

    def test_it_is_not_turned_again_after_a_release(self) -> None:
        frames = np.zeros((4, 48, 64, 3), np.uint8)
        frames[:, :24, :32] = 255
        clip = decode_clip(video(frames, turn=90))
        again = decode_clip(encode_clip(clip, ".mp4"))
        assert np.abs(again.frames.astype(int) - clip.frames).mean() < 4


class TestBroken:
    @pytest.mark.parametrize(
        ("suffix", "skip"), [(".mp4", 0.0), (".mp4", 0.4), (".avi", 0.0), (".avi", 0.4)]
    )
    def test_a_frame_that_does_not_decode(self, suffix: str, skip: float) -> None:
        data = with_broken_packet(encode_clip(Clip(moving()), suffix), 20, skip=skip)
        for read in (decode_clip, lambda c: list(each_window(c, [Window(10, 16, 1)]))):
            with pytest.raises(BadMedia, match=r"^broken after \d+ frames|^frame \d+ cannot be"):
                read(data)  # type: ignore[operator]
        (before,) = each_window(data, [Window(0, 5, 1)])  # what comes before it is good
        assert len(before.frames) == 5

    @pytest.mark.parametrize("suffix", [".mkv", ".webm"])
    def test_an_end_that_is_missing(self, suffix: str) -> None:
        """A damaged block hides all that follow; only the stated length shows it."""
        data = with_broken_packet(encode_clip(Clip(moving()), suffix), 20)
        for read in (count_frames, decode_clip):
            with pytest.raises(BadMedia, match=r"truncated: it ends after 0\.8 of 1\.6 seconds"):
                read(data)


def test_a_cover_picture_is_not_the_video() -> None:
    from av.stream import Disposition

    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as container:
        cover: Any = container.add_stream("mjpeg", rate=25)
        cover.width, cover.height, cover.pix_fmt = 32, 32, "yuvj420p"
        stream: Any = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        cover.disposition = Disposition.attached_pic
        picture = av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), np.uint8), format="rgb24")
        container.mux(cover.encode(picture))
        container.mux(cover.encode(None))
        for pixels in grey(12):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))
    assert count_frames(out.getvalue())[0] == 12
    assert numbers(decode_clip(out.getvalue())) == list(range(12))


def test_an_extraction_skips_bad_clips_and_says_why(tmp_path: Path) -> None:
    folder = tmp_path / "clips"
    folder.mkdir()
    good = {
        "plain.mp4": video(grey()),
        "sound.mp4": video(grey(), sound=True),
        "turned.mp4": video(grey(), turn=90),
        "varied.mp4": video(grey(), times=TestVariableFrameRate.times),
        "short.mp4": video(grey(20)),  # every frame instead of every other
    }
    bad = {
        "few.mp4": (video(grey(15)), "15 frames, 16 are needed"),
        "one.mp4": (video(grey(1)), "1 frame, 16 are needed"),
        "broken.avi": (
            with_broken_packet(encode_clip(Clip(moving()), ".avi"), 20),
            "broken after 20 frames: Invalid data found when processing input",
        ),
    }
    for name, data in (good | {name: data for name, (data, _) in bad.items()}).items():
        (folder / name).write_bytes(data)
    target = tmp_path / "clips.parquet"
    extract_to(plan(folder, extractor="frame-stats"), target, progress=Silent())
    assert len(pq.read_table(target)) == len(good)
    listed = (tmp_path / "clips.errors.csv").read_text()
    for name, (_, reason) in bad.items():
        assert f"{name},{reason}" in listed.replace('"', "")
