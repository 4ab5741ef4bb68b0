"""Clips as one tensor: which frames are used, short and broken clips, bounds."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest
import torch

from support import Recorder
from withhold.core.errors import UserError
from withhold.media import clip_tensor as module
from withhold.media.clip_tensor import FrameSize, clip_tensor, small_frames
from withhold.records.dataset import Dataset
from withhold.records.readers.collection import Samples
from withhold.records.samples import BadMedia, Clip


def numbered(*lengths: int) -> Dataset:
    """Clips whose frames are as bright as their number."""
    samples = [
        Clip(np.repeat(np.arange(n, dtype=np.uint8), 8 * 6 * 3).reshape(n, 8, 6, 3))
        for n in lengths
    ]
    pixels = np.zeros((len(lengths), 1, 2, 2, 3), np.uint8)
    data = Dataset.from_arrays(pixels, {"sign": [f"s{i}" for i in range(len(lengths))]})
    assert isinstance(data.media, Samples)
    data.media.samples[:] = samples
    return data


@pytest.mark.parametrize(
    ("size", "count", "numbers"),
    [
        (FrameSize(4, 8, 8), 10, [0, 3, 6, 9]),
        (FrameSize(4, 8, 8), 4, [0, 1, 2, 3]),
        (FrameSize(4, 8, 8), 2, [0, 1, 1, 1]),
        (FrameSize(4, 8, 8, step=2), 11, [2, 4, 6, 8]),
        (FrameSize(4, 8, 8, step=2), 5, [0, 2, 4, 4]),
    ],
)
def test_the_frames_that_are_used(size: FrameSize, count: int, numbers: list[int]) -> None:
    assert size.numbers(count) == numbers


def test_clips_become_bytes_of_one_shape_and_short_ones_are_named() -> None:
    said = Recorder()
    data, x = clip_tensor(numbered(10, 3), FrameSize(4, 8, 6), progress=said)
    assert (tuple(x.shape), str(x.dtype)) == ((2, 4, 3, 8, 6), "torch.uint8")
    assert x[:, :, 0, 0, 0].tolist() == [[0, 3, 6, 9], [0, 1, 2, 2]]
    assert len(data) == 2
    assert "1 of 2 clips have too few frames for the 4" in said.text


def test_a_clip_that_cannot_be_decoded_is_left_out_and_named() -> None:
    data = numbered(5, 5, 5)
    assert isinstance(data.media, Samples)
    data.media.samples[1] = Clip(np.zeros((0, 8, 6, 3), np.uint8))
    said = Recorder()
    kept, x = clip_tensor(data, FrameSize(4, 8, 8), progress=said)
    assert kept.table["sign"].to_pylist() == ["s0", "s2"]
    assert len(x) == 2
    assert "1 of 3 clips cannot be used" in said.text
    data.media.samples[:] = [data.media.samples[1]] * 3
    with pytest.raises(UserError, match="no clip of the data can be decoded"):
        clip_tensor(data, FrameSize(4, 8, 8))


def test_a_file_that_is_no_video_is_bad(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"no video")
    with pytest.raises(BadMedia):
        small_frames(tmp_path / "a.mp4", 8, 8)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    with pytest.raises(UserError, match="use fewer clips, fewer frames"):
        clip_tensor(numbered(5), FrameSize(8, 32, 32))


def test_many_clips_are_in_a_file_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = FrameSize(16, 256, 256)
    data = numbered(*[20] * 20)
    assert isinstance(data.media, Samples)
    data.media.samples[3] = Clip(np.zeros((0, 8, 6, 3), np.uint8))  # is left out
    _, whole = clip_tensor(data, size)
    monkeypatch.setattr(module, "IN_MEMORY", 1000)
    monkeypatch.setattr(module, "MOST_BYTES", 1000)  # of memory: a file may be larger
    before = _own_memory()
    kept, x = clip_tensor(data, size, folder=tmp_path)
    assert _own_memory() - before < 20 * 2**20 < x.numel()
    assert len(kept) == 19
    assert torch.equal(x, whole)
    assert list(tmp_path.iterdir()) == []  # nothing is left to remove, even after a kill


def test_few_clips_are_in_memory_although_there_is_a_folder(tmp_path: Path) -> None:
    _, x = clip_tensor(numbered(5), FrameSize(4, 8, 8), folder=tmp_path / "missing")
    assert len(x) == 1


def test_a_full_disk_is_reported_before_videos_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "IN_MEMORY", 1000)
    monkeypatch.setattr(module.os, "posix_fallocate", full)
    monkeypatch.setattr(module, "small_frames", None)
    with pytest.raises(UserError, match=r"GiB of disk in .*, which has .*; free some space"):
        clip_tensor(numbered(5), FrameSize(8, 32, 32), folder=tmp_path)


def test_images_are_refused() -> None:
    data = Dataset.from_arrays(np.zeros((2, 4, 4, 3), np.uint8), {"a": ["x", "y"]})
    with pytest.raises(UserError, match="holds images, but the method learns from clips"):
        clip_tensor(data, FrameSize(4, 8, 8))


def _own_memory() -> int:
    """Bytes of memory that no file backs."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024
