from __future__ import annotations

import csv
import os

import numpy as np
import pyarrow as pa
import pytest

from media_support import (
    ClipBrightness,
    Mean,
    MeanConfig,
    constant,
    sounds,
    videos,
    write_wav,
)
from support import Interrupted, Recorder
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.media import to_file
from withhold.media.extract_features import extract, plan
from withhold.media.extraction_note import extractor_of
from withhold.media.extractors.logmel import LogMel
from withhold.media.to_file import errors_path, extract_to
from withhold.records.dataset import Dataset
from withhold.records.readers import Samples


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """A part a block, so that there is something to resume."""
    monkeypatch.setattr(to_file, "_BYTES", 1)


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "x.parquet"


def run(media, out, *, extractor=None, progress=None, strict=False, workers=None, **how):
    job = plan(media, extractor=extractor or Mean(), **how)
    return extract_to(job, out, progress=progress or Silent(), strict=strict, workers=workers)


def left(out):
    return sorted(p.name for p in out.parent.iterdir())


def test_a_file_of_features_and_labels(out):
    done = run(sounds(10), out)
    assert (done.records, done.features, done.resumed, done.skipped) == (10, 3, 0, [])
    data = Dataset.read(out)
    assert data.x.shape == (10, 3)
    assert data.table["n"].to_pylist() == list(range(10))
    assert left(out) == ["x.parquet"]


def test_it_is_what_the_library_gives(out):
    rng = np.random.default_rng(0)
    some = [
        type(s)(rng.normal(0, 0.1, 900).astype(np.float32), s.rate) for s in sounds(600).samples
    ]
    media = Samples(some, pa.table({"n": np.arange(600)}), "sound")
    run(media, out, extractor="logmel", test="n>=500")
    data, here = Dataset.read(out), extract(media, extractor="logmel", test="n>=500")
    assert data.x.tobytes() == here.x.tobytes()
    assert data.table.equals(here.table)
    assert extractor_of(data).state() == extractor_of(here).state()


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("after", [1, 5, 13])
def test_an_interrupted_run_goes_on_to_the_same_bytes(out, after, workers):
    run(sounds(22), out)
    whole = out.read_bytes()
    out.unlink()
    with pytest.raises(Interrupted):
        run(sounds(22), out, progress=Recorder(stop_in="mean", after=after))
    assert left(out) == ["x.parquet.partial"]
    again, said = Mean(), Recorder()
    done = run(sounds(22), out, extractor=again, progress=said, workers=workers)
    assert 0 < done.resumed < 22
    assert again.prepared == 22 - done.resumed
    assert said.steps["mean"] == 22 - done.resumed
    assert f"resuming from {out}.partial: {done.resumed} of 22 done" in said.text
    assert out.read_bytes() == whole
    assert left(out) == ["x.parquet"]


def test_standardised_features_have_the_same_bytes_too(out, monkeypatch):
    media = sounds(700)
    monkeypatch.setattr(to_file, "_BYTES", 2**30)
    run(media, out, extractor="logmel", test="n>=500")
    whole = out.read_bytes()
    monkeypatch.setattr(to_file, "_BYTES", 1)
    with pytest.raises(Interrupted):
        run(media, out, extractor="logmel", test="n>=500",
            progress=Recorder(stop_in="logmel", after=300))  # fmt: skip
    assert out.read_bytes() == whole  # what was there stays until the end
    run(media, out, extractor="logmel", test="n>=500")
    assert out.read_bytes() == whole


def test_interrupted_while_writing(out):
    with pytest.raises(Interrupted):
        run(sounds(22), out, progress=Recorder(stop_in="writing x.parquet", after=9))
    assert left(out) == ["x.parquet.partial"]
    again = Mean()
    assert run(sounds(22), out, extractor=again).resumed == 22
    assert again.prepared == 0


def test_ctrl_c_leaves_what_is_done(out):
    class Stopped(Mean):
        batches = 0

        def forward(self, prepared):
            self.batches += 1
            if self.batches == 3:
                raise KeyboardInterrupt
            return super().forward(prepared)

    with pytest.raises(KeyboardInterrupt):
        run(sounds(40), out, extractor=Stopped(), workers=1)
    done = run(sounds(40), out)
    assert 0 < done.resumed < 40
    assert Dataset.read(out).table["n"].to_pylist() == list(range(40))


class Other(Mean):
    @property
    def fingerprint(self):
        return "other weights"


class Renamed(Mean):
    name = "renamed"


@pytest.mark.parametrize(
    "change",
    [
        lambda: (sounds(23), Mean()),
        lambda: (Samples(sounds(22).samples, pa.table({"n": [7] * 22}), "sound"), Mean()),
        lambda: (Samples(sounds(22).samples, pa.table({"m": np.arange(22)}), "sound"), Mean()),
        lambda: (Samples(sounds(23).samples[1:], sounds(22).table, "sound"), Mean()),
        lambda: (sounds(22), Mean(MeanConfig(gain=2))),
        lambda: (sounds(22), Other()),
        lambda: (sounds(22), Renamed()),
    ],
    ids=["more", "labels", "columns", "samples", "setting", "weights", "extractor"],
)
def test_a_change_begins_anew(out, change):
    with pytest.raises(Interrupted):
        run(sounds(22), out, progress=Recorder(stop_in="mean", after=9))
    media, extractor = change()
    done = run(media, out, extractor=extractor)
    assert done.resumed == 0
    assert extractor.prepared == len(media)
    got = out.read_bytes()
    media, extractor = change()
    run(media, out, extractor=extractor)
    assert out.read_bytes() == got


def test_a_changed_file_or_pattern_begins_anew(out, tmp_path):
    root = tmp_path / "sounds"
    for i in range(12):
        write_wav(root / f"{i:02d}_{i % 3}.wav", constant(0.1))

    def interrupted(**how):
        with pytest.raises(Interrupted):
            run(root, out, progress=Recorder(stop_in="mean", after=5), **how)

    interrupted(pattern="{take}_*")
    assert run(root, out, pattern="*_{take}").resumed == 0
    assert Dataset.read(out).table["take"].to_pylist() == [i % 3 for i in range(12)]
    interrupted()
    os.utime(root / "11_2.wav", ns=(5, 5))
    assert run(root, out).resumed == 0
    interrupted()
    write_wav(root / "12_0.wav", constant(0.1))
    assert run(root, out).resumed == 0
    interrupted()
    assert run(root, out).resumed > 0


def test_clips_of_ten_windows(out):
    done = run(videos(6), out, extractor=ClipBrightness(), clips=10)
    data = Dataset.read(out)
    assert done.records == 60
    assert data.table.column_names == ["file", "n", "frame", "split"]
    parts = {}
    for file, part in zip(data.table["file"].to_pylist(), data.parts, strict=True):
        parts.setdefault(file, set()).add(str(part))
    assert all(len(of_one) == 1 for of_one in parts.values())  # no video in two parts
    np.testing.assert_allclose(data.x[:, 1], data.table["frame"].to_numpy(), rtol=1e-5)


# --- bad media ---


@pytest.fixture
def mixed(tmp_path):
    root = tmp_path / "mixed"
    for i in range(9):
        write_wav(root / f"{i}.wav", constant(0.1))
    (root / "3.wav").write_bytes((root / "3.wav").read_bytes()[:60])
    (root / "4.wav").write_bytes(b"")
    (root / "5.wav").write_text("no sound at all, whatever its name says")
    (root / '6, or\n"7".wav').write_bytes(b"")
    (root / "7.wav").unlink()
    (root / "7.wav").symlink_to("7.wav")
    (root / "8.wav").unlink()
    (root / "8.wav").symlink_to("gone.wav")
    raw = os.fsdecode(b"caf\xe9.wav")
    (root / raw).write_bytes(b"")
    os.mkfifo(root / "pipe.wav")
    return root


def test_bad_media_are_skipped_and_listed_with_reasons(out, mixed):
    done = run(mixed, out)
    assert Dataset.read(out).table["file"].to_pylist() == ["0", "1", "2", "6"]
    with errors_path(out).open(newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    assert header == ["file", "reason"]
    reasons = dict(rows)
    assert list(reasons) == [
        "3.wav", "4.wav", "5.wav", '6, or\n"7".wav', "7.wav", "8.wav", "caf?.wav", "pipe.wav"
    ]  # fmt: skip
    assert len(done.skipped) == 8
    for name, word in {
        "3.wav": "cut off", "4.wav": "empty", "5.wav": "not sound", '6, or\n"7".wav': "empty",
        "7.wav": "Too many levels of symbolic links", "8.wav": "No such file",
        "caf?.wav": "empty", "pipe.wav": "not a file",
    }.items():  # fmt: skip
        assert word in reasons[name], reasons[name]
    assert left(out) == ["x.errors.csv", "x.parquet"]


def test_an_older_list_goes_where_nothing_is_bad(out, mixed):
    run(mixed, out)
    run(sounds(5), out)
    assert left(out) == ["x.parquet"]


def test_strict_stops_at_the_first_and_goes_on_without(out, mixed):
    with pytest.raises(UserError, match=r"3\.wav of mixed cannot be used: .*cut off") as caught:
        run(mixed, out, strict=True)
    assert "\n" not in str(caught.value)
    assert not out.exists()
    # What was done is known to be bad, without doing it again.
    with pytest.raises(UserError, match=r"3\.wav of mixed"):
        run(mixed, out, strict=True)
    assert run(mixed, out).resumed > 0


def test_nothing_usable_writes_nothing(out, tmp_path):
    for i in range(9):
        path = tmp_path / "bad" / f"{i}.wav"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    out.write_text("older")
    with pytest.raises(
        UserError, match=r"nothing of bad can be used \(9 skipped\): 0\.wav: .*empty"
    ):
        run(tmp_path / "bad", out)
    assert left(out) == ["x.parquet"]
    assert out.read_text() == "older"


def test_the_extractor_is_suited_to_the_first_that_can_be_used(tmp_path, out):
    root = tmp_path / "rates"
    (root).mkdir()
    (root / "0.wav").write_bytes(b"")
    write_wav(root / "1.wav", 0.1 * np.random.default_rng(0).standard_normal(4000), 16000)
    write_wav(root / "2.wav", 0.1 * np.random.default_rng(1).standard_normal(2000), 8000)
    run(root, out, extractor="logmel")
    fitted = extractor_of(Dataset.read(out))
    assert isinstance(fitted, LogMel)
    assert fitted.rate == 16000
    assert len(Dataset.read(out)) == 2
