from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest

from media_support import RATE, ClipBrightness, Mean, constant, sounds, videos
from withhold.core.errors import UserError
from withhold.media import pipeline
from withhold.media.cutting import Cutting
from withhold.media.pipeline import AHEAD, blocks, label_schema
from withhold.records.readers import Item, Samples
from withhold.records.samples import BadMedia, Sound

SOUND = Cutting("sound")


class Slow(Mean):
    """The first of a block is the last to be ready."""

    def prepare(self, sample):
        time.sleep(0.01 * (1 - float(sample.samples[0]) * 1000 % 4 / 4))
        return super().prepare(sample)


def run(collection, extractor=None, cutting=SOUND, **how):
    return list(blocks(collection, extractor or Mean(), cutting, **how))


def workers_left():
    return [t for t in threading.enumerate() if "ThreadPoolExecutor" in t.name]


def joined(some):
    return np.concatenate([b.raw for b in some]), pa.concat_tables([b.labels for b in some])


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_records_are_in_the_order_of_the_items(workers):
    found = run(sounds(22), Slow(), workers=workers)
    x, labels = joined(found)
    assert labels["n"].to_pylist() == list(range(22))
    np.testing.assert_allclose(x[:, 0], (np.arange(22) + 1) / 1000, rtol=1e-5)
    assert [(b.start, b.stop) for b in found] == [(i, min(i + 4, 22)) for i in range(0, 22, 4)]
    assert [p for b in found for p in b.places] == list(range(22))


def test_from_the_middle_the_blocks_are_the_same():
    whole = run(sounds(22))
    rest = run(sounds(22), start=8)
    assert [(b.start, b.stop) for b in rest] == [(b.start, b.stop) for b in whole[2:]]
    for one, two in zip(rest, whole[2:], strict=True):
        assert one.raw.tobytes() == two.raw.tobytes()
        assert one.labels.equals(two.labels)
        assert one.places == two.places
    assert run(sounds(22), start=22) == []


class Falls(Mean):
    """Raises one error at one sound."""

    def __init__(self, error, at=5):
        super().__init__()
        self.error, self.at = error, at

    def prepare(self, sample):
        if round(float(sample.samples[0]) * 1000) == self.at + 1:
            raise self.error
        return super().prepare(sample)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (BadMedia("no face in it"), "no face in it"),
        (OSError("gone"), "OSError: gone"),
        (ValueError("first line.\nsecond"), "ValueError: first line"),
        (RuntimeError(""), "RuntimeError: RuntimeError"),
        (MemoryError(), "MemoryError: MemoryError"),
        (ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"), "UnicodeDecodeError"),
    ],
)
def test_what_one_file_makes_a_library_do_is_its_reason(error, reason):
    found = run(sounds(10), Falls(error))
    (skipped,) = [s for b in found for s in b.skipped]
    assert (skipped.place, skipped.name) == (5, "record 5")
    assert skipped.reason.startswith(reason)
    assert joined(found)[1]["n"].to_pylist() == [0, 1, 2, 3, 4, 6, 7, 8, 9]


@pytest.mark.parametrize(
    "error", [TypeError("a bug"), KeyError("k"), AttributeError("a"), UserError("a mistake")]
)
def test_a_bug_and_a_mistake_are_not_swallowed(error):
    with pytest.raises(type(error)) as caught:
        run(sounds(10), Falls(error))
    assert caught.value is error
    assert not workers_left()


def test_a_bug_in_the_network_comes_out_too():
    class Broken(Mean):
        def forward(self, prepared):
            raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        run(sounds(10), Broken())


def test_features_that_are_no_numbers_are_left_out():
    waves = [constant(0.1), constant(np.nan), constant(0.2), constant(5.0)]
    some = Samples([Sound(w, RATE) for w in waves], pa.table({"n": range(4)}), "sound")

    class Trusting(Mean):
        def prepare(self, sample):
            return sample.samples

    cutting = Cutting("sound")
    object.__setattr__(cutting, "cut", lambda item, place: [(item.content, {})])
    (block,) = run(some, Trusting(), cutting)
    assert block.labels["n"].to_pylist() == [0, 2, 3]
    assert [(s.place, s.reason) for s in block.skipped] == [(1, "its features are NaN or infinite")]
    assert block.places == [0, 2, 3]


def test_nothing_usable_is_a_block_without_records():
    waves = [constant(5.0)] * 3
    some = Samples([Sound(w, RATE) for w in waves], pa.table({"n": range(3)}), "sound")
    (block,) = run(some)
    assert block.raw.shape == (0, 3)
    assert block.labels.num_rows == 0
    assert [s.reason for s in block.skipped] == ["it is too loud"] * 3


def test_no_labels_at_all():
    some = Samples(sounds(6).samples, pa.table({}), "sound")
    assert [b.labels.num_rows for b in run(some)] == [4, 2]


def test_ten_windows_of_a_video():
    found = run(videos(7), ClipBrightness(), Cutting("clip", 4, 2, clips=10))
    x, labels = joined(found)
    assert labels["n"].to_pylist() == [i for i in range(7) for _ in range(10)]
    np.testing.assert_allclose(x[:, 0], labels["n"].to_numpy(), rtol=1e-5)
    np.testing.assert_allclose(x[:, 1], labels["frame"].to_numpy(), rtol=1e-5)
    # Ten windows are more than a batch of 4: a block is one video then.
    assert [b.stop - b.start for b in found] == [1] * 7


@dataclass
class Watched:
    """A collection that makes its sounds as they are asked for, and counts those asked for."""

    n: int
    name: str = "watched"
    kind: str = "sound"
    schema: pa.Schema = field(default_factory=lambda: pa.schema([("n", pa.int64())]))
    asked: int = 0

    def __len__(self):
        return self.n

    def items(self, start=0):
        for i in range(start, self.n):
            self.asked += 1
            yield Item(f"{i}", Sound(constant(0.1), RATE), {"n": i})


@pytest.mark.parametrize("n", [40, 400])
def test_no_more_is_held_than_a_few_blocks(n):
    collection, extractor = Watched(n), Mean()
    for block in blocks(collection, extractor, SOUND, workers=3):
        # What is ahead of the block at hand: other blocks, and never more items than those.
        assert collection.asked - block.stop <= AHEAD * extractor.batch
    assert collection.asked == n
    assert extractor.most <= (AHEAD + 1) * extractor.batch


def test_large_samples_are_held_in_smaller_numbers(monkeypatch):
    monkeypatch.setattr(pipeline, "HELD", 1)
    collection, extractor = Watched(80), Mean()
    for block in blocks(collection, extractor, SOUND, workers=3):
        assert collection.asked - block.stop <= 2 * extractor.batch
    assert extractor.most <= 3 * extractor.batch


def test_whoever_stops_listening_stops_the_work():
    collection = Watched(4000)
    some = blocks(collection, Mean(), SOUND, workers=2)
    next(some)
    some.close()
    assert collection.asked < 40
    assert not workers_left()


def test_names_that_are_taken():
    for name, told in (("x", "also the name of the features"), ("__record__", "rename the label")):
        some = Samples(sounds(2).samples, pa.table({name: [1, 2]}), "sound", "mine")
        with pytest.raises(UserError, match=f"'{name}' is a label of mine.*{told}"):
            label_schema(some, SOUND)
    some = Samples(videos(2).samples, pa.table({"frame": [1, 2]}), "clip", "mine")
    with pytest.raises(UserError, match="'frame' is a column of mine, and cutting"):
        label_schema(some, Cutting("clip", clips=2))
    assert label_schema(some, Cutting("clip")).names == ["frame"]
