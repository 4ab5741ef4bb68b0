"""A release of media: the same bytes however often it was cut, and nothing that was not changed."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile

from media_support import write_wav
from release_support import (
    below,
    bundle_of,
    hum,
    noisy,
    people,
    picture_bytes,
    pixels_of,
    write_picture,
)
from support import Interrupted, Recorder
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.media.decode.clips import decode_clip
from withhold.media.decode.encoded_clips import encode_clip
from withhold.media.folder_sink import FolderSink, names_path
from withhold.records.samples import Clip
from withhold.release.media_stream import release_media

PATTERN = "{person}_{pose}.png"
SECRET = b"52.5200 N 13.4050 E"


def released(folder: Path) -> dict[str, bytes]:
    """A release, and the list beside it."""
    return below(folder) | {"names": names_path(folder).read_bytes()}


def test_the_same_bytes_twice(tmp_path: Path) -> None:
    people(tmp_path / "in", each=9)
    write_wav(tmp_path / "in" / "other.wav", hum(0))  # of another kind: left alone
    bundle, media = bundle_of(tmp_path / "in", pattern=PATTERN)
    for name in ("one", "two"):
        done = release_media(bundle, media, tmp_path / name, progress=Silent())
        assert (done.records, done.skipped) == (18, ())
    assert released(tmp_path / "one") == released(tmp_path / "two")


@pytest.mark.parametrize("after", [2, 5, 17])
def test_a_run_that_was_cut_goes_on(tmp_path: Path, after: int) -> None:
    people(tmp_path / "in", each=9)
    bundle, media = bundle_of(tmp_path / "in", pattern=PATTERN)
    release_media(bundle, media, tmp_path / "whole", progress=Silent())
    out, stage = tmp_path / "out", "blur on in"
    with pytest.raises(Interrupted):
        release_media(bundle, media, out, progress=Recorder(stop_in=stage, after=after))
    assert not out.exists()
    assert not names_path(out).exists()
    work = tmp_path / "out.partial"
    there = {p: p.stat().st_mtime_ns for p in work.glob("*.png")}
    assert len(there) == after - 1
    (work / ".00000099.png.partial").write_bytes(b"half of a file that a kill left")
    said = Recorder()
    release_media(bundle, media, out, progress=said)
    assert said.lines == [f"resuming from {work}"]
    assert released(out) == released(tmp_path / "whole")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        ["in", "out", "out.names.csv", "whole", "whole.names.csv"]
    )


def test_what_is_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people(tmp_path / "in", each=9)
    bundle, media = bundle_of(tmp_path / "in")
    cut = Recorder(stop_in="blur on in", after=11)
    with pytest.raises(Interrupted):
        release_media(bundle, media, tmp_path / "out", progress=cut)
    next((tmp_path / "out.partial").glob("*.png")).write_bytes(b"")
    made: list[str] = []
    real = FolderSink.encoded

    def spy(self: FolderSink, place: int, item: object, sample: object) -> bytes:
        made.append(item.name)  # type: ignore[attr-defined]
        return real(self, place, item, sample)  # type: ignore[arg-type]

    monkeypatch.setattr(FolderSink, "encoded", spy)
    release_media(bundle, media, tmp_path / "out", progress=Silent())
    assert len(made) == 18 - 9  # ten were done, of which a power cut emptied one
    assert all(data for data in below(tmp_path / "out").values())


def test_another_bundle_or_other_media_begin_anew(tmp_path: Path) -> None:
    people(tmp_path / "in", each=4)
    bundle, media = bundle_of(tmp_path / "in")
    out = tmp_path / "out"
    with pytest.raises(Interrupted):
        release_media(bundle, media, out, progress=Recorder(stop_in="blur on in", after=5))
    other, _ = bundle_of(tmp_path / "in", config={"kernel": 3})
    said = Recorder()
    release_media(other, media, out, progress=said)
    assert said.lines == []
    release_media(other, media, tmp_path / "whole", progress=Silent())
    assert released(out) == released(tmp_path / "whole")


@pytest.mark.parametrize("moment", ["manifest.csv", "names", "rename"])
def test_cut_at_the_very_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """The list of who is who must be there whenever the release is: nobody makes it afterwards."""
    people(tmp_path / "in")
    bundle, media = bundle_of(tmp_path / "in")
    out = tmp_path / "out"
    import os

    real = os.replace

    def dies(source: Path, target: Path) -> None:
        last = {"names": names_path(out), "rename": out}.get(moment)
        if Path(target).name == moment or Path(target) == last:
            raise KeyboardInterrupt
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dies)
        with pytest.raises(KeyboardInterrupt):
            release_media(bundle, media, out, progress=Silent())
    assert not out.exists()
    release_media(bundle, media, out, progress=Silent())
    release_media(bundle, media, tmp_path / "whole", progress=Silent())
    assert released(out) == released(tmp_path / "whole")
    assert sorted(p.name for p in tmp_path.iterdir() if "out" in p.name) == [
        "out",
        "out.names.csv",
    ]


def test_a_folder_of_somebody_else_is_in_the_way(tmp_path: Path) -> None:
    people(tmp_path / "in")
    bundle, media = bundle_of(tmp_path / "in")
    mine = tmp_path / "out.partial" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("kept")
    with pytest.raises(UserError, match=r"out\.partial exists and was not made by withhold"):
        release_media(bundle, media, tmp_path / "out", progress=Silent())
    assert mine.read_text() == "kept"


def test_what_cannot_be_released_is_left_out_and_said(tmp_path: Path) -> None:
    people(tmp_path / "in")
    whole = picture_bytes(noisy(50))
    (tmp_path / "in" / "cut_0.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "in" / "empty_0.png").write_bytes(b"")
    (tmp_path / "in" / "text_0.png").write_text("no picture")
    write_picture(tmp_path / "in" / "misnamed.png", 3)
    bundle, media = bundle_of(tmp_path / "in", pattern=PATTERN)
    done = release_media(bundle, media, tmp_path / "out", progress=Silent())
    records, skipped = done.records, done.skipped
    assert records == 6
    assert {s.name: s.reason for s in skipped} == {
        "cut_0.png": "the picture is cut short",
        "empty_0.png": "the file is empty",
        "text_0.png": "not a picture, or its header is damaged",
        "misnamed.png": "its name does not match the pattern",
    }
    originals = {p.read_bytes() for p in (tmp_path / "in").iterdir()}
    assert len(below(tmp_path / "out")) == 7
    assert not originals & {*below(tmp_path / "out").values()}


def test_an_anonymiser_that_refuses(tmp_path: Path) -> None:
    """No face is found in noise."""
    people(tmp_path / "in", each=1)
    config = {"region": "faces", "missing": "refuse"}
    bundle, media = bundle_of(tmp_path / "in", config=config)
    with pytest.raises(UserError, match=r"nothing of in can be released: anna_0\.png: "):
        release_media(bundle, media, tmp_path / "out", progress=Silent())
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


def test_strict(tmp_path: Path) -> None:
    people(tmp_path / "in")
    (tmp_path / "in" / "z_0.png").write_text("junk")
    bundle, media = bundle_of(tmp_path / "in")
    with pytest.raises(UserError, match=r"z_0\.png of in cannot be released: not a picture"):
        release_media(bundle, media, tmp_path / "out", strict=True, progress=Silent())
    assert not (tmp_path / "out").exists()
    assert release_media(bundle, media, tmp_path / "out", progress=Silent()).records == 6


def test_nothing_of_a_picture_but_its_pixels(tmp_path: Path) -> None:
    from PIL import Image, PngImagePlugin

    exif = Image.Exif()
    exif[0x010E] = exif[0x9286] = SECRET.decode()
    exif.get_ifd(0x8825)[1] = "N"
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", SECRET.decode())
    folder = tmp_path / "in"
    write_picture(folder / "a.jpg", 1, exif=exif, comment=SECRET, icc_profile=SECRET * 9)
    write_picture(folder / "b.png", 2, pnginfo=text, exif=exif)
    with (folder / "a.jpg").open("ab") as file:
        file.write(SECRET)  # after the end, as phones do
    assert all(SECRET in data for data in below(folder).values())
    bundle, media = bundle_of(folder)
    release_media(bundle, media, tmp_path / "out", keep_names=True, progress=Silent())
    found = below(tmp_path / "out")
    assert not any(SECRET in data for data in found.values())
    for name, form in (("a.jpg", "JPEG"), ("b.png", "PNG")):
        with Image.open(io.BytesIO(found[name])) as image:
            assert image.format == form
            assert not image.getexif()
            assert not {*image.info} - {"jfif", "jfif_version", "jfif_unit", "jfif_density"}


def test_a_turned_picture_is_turned_before_the_tag_goes(tmp_path: Path) -> None:
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6
    write_picture(tmp_path / "in" / "a.png", 1, exif=exif)
    bundle, media = bundle_of(tmp_path / "in", config={"kernel": 1})
    release_media(bundle, media, tmp_path / "out", keep_names=True, progress=Silent())
    turned = np.rot90(noisy(1), -1)
    np.testing.assert_array_equal(pixels_of(tmp_path / "out" / "a.png"), turned)


@pytest.mark.parametrize("form", ["WAV", "FLAC", "MP3", "OGG"])
def test_nothing_of_a_sound_but_its_samples(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    path = folder / f"a.{form.lower()}"
    coding = "PCM_24" if form in ("WAV", "FLAC") else None
    with soundfile.SoundFile(path, "w", 16_000, 2, coding, format=form) as file:
        file.title = file.artist = SECRET.decode()
        file.write(np.stack([hum(0, 9000), hum(1, 9000)], axis=1))
    assert SECRET in path.read_bytes()
    bundle, media = bundle_of(folder, "white-noise", kind="sound")
    outs = [tmp_path / "one", tmp_path / "two"]
    for out in outs:
        release_media(bundle, media, out, progress=Silent())
    assert released(outs[0]) == released(outs[1])
    out = outs[0] / f"00000000.{form.lower()}"
    assert SECRET not in out.read_bytes()
    found, before = soundfile.info(out), soundfile.info(path)
    assert (found.format, found.subtype, found.samplerate) == (form, before.subtype, 16_000)
    assert found.channels == 1
    if form != "MP3":
        assert found.frames == 9000


def test_clips_stay_clips(tmp_path: Path) -> None:
    """Size, number and rate of frames; and the same filter on every frame."""
    still = Clip(np.repeat(noisy(3, 48, 64)[None], 20, axis=0), 12.5)
    (tmp_path / "in").mkdir()
    for suffix in (".mp4", ".avi"):
        (tmp_path / "in" / f"a{suffix}").write_bytes(encode_clip(still, suffix))
    bundle, media = bundle_of(tmp_path / "in", kind="clip", config={"kernel": 9})
    release_media(bundle, media, tmp_path / "out", keep_names=True, progress=Silent())
    for suffix in (".mp4", ".avi"):
        before = decode_clip(tmp_path / "in" / f"a{suffix}")
        found = decode_clip(tmp_path / "out" / f"a{suffix}")
        assert found.frames.shape == (20, 48, 64, 3)
        assert found.rate == 12.5
        frames = found.frames.astype(int)
        assert frames[0].std() < before.frames[0].std() / 2
        assert max(np.abs(a - b).mean() for a, b in pairwise(frames)) < 4
