from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from withhold.core.errors import UserError
from withhold.media.parts import ExtractedParts
from withhold.media.pipeline import Block, Skipped

PLAN = {"media": "abc", "extractor": "mean"}


def block(start, stop, d=3, labels=True, lost=()):
    """Items start to stop, each its number d times; those in `lost` are skipped."""
    places = [i for i in range(start, stop) if i not in lost]
    raw = np.repeat(np.float32(places)[:, None], d, axis=1).reshape(-1, d)
    table = pa.table({"n": pa.array(places, pa.int64())} if labels else {})
    skipped = [Skipped(i, f"näme\udcff {i}", 'a "reason",\n') for i in lost]
    return Block(start, stop, raw, table, places, skipped)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "x.parquet.partial"


@pytest.fixture
def three(folder):
    parts = ExtractedParts(folder, PLAN)
    parts.write([block(0, 4), block(4, 8, lost=[5])])
    parts.write([block(8, 12)])
    parts.write([block(12, 13)])
    return parts


def numbers(parts):
    return [int(n) for raw, _ in parts.read() for n in raw[:, 0]]


def test_what_is_written_is_read_in_order(three, folder):
    for parts in (three, ExtractedParts(folder, dict(reversed(PLAN.items())))):
        assert parts.stop == 13
        assert parts.records == 12
        assert numbers(parts) == parts.labels()["n"].to_pylist() == [*range(5), *range(6, 13)]
        assert [table["n"].to_pylist()[0] for _, table in parts.read()] == [0, 8, 12]
        (skipped,) = parts.skipped()
        assert skipped == Skipped(5, "näme\udcff 5", 'a "reason",\n')


def test_nothing_is_there_at_first(folder):
    parts = ExtractedParts(folder, PLAN)
    assert (parts.stop, parts.records, parts.skipped()) == (0, 0, [])


def test_a_part_may_have_no_records(folder):
    parts = ExtractedParts(folder, PLAN)
    parts.write([block(0, 2, lost=[0, 1])])
    parts.write([block(2, 3)])
    again = ExtractedParts(folder, PLAN)
    assert (again.stop, again.records, numbers(again)) == (3, 1, [2])
    assert [raw.shape for raw, _ in again.read()] == [(0, 3), (1, 3)]


@pytest.mark.parametrize("plan", [{**PLAN, "media": "abd"}, {}, {**PLAN, "more": 1}])
def test_another_plan_begins_anew(three, folder, plan):
    parts = ExtractedParts(folder, plan)
    assert parts.stop == 0
    assert [p.name for p in folder.iterdir()] == ["plan.json"]
    assert json.loads((folder / "plan.json").read_text()) == plan


@pytest.mark.parametrize("garbage", [b"", b"{", b"\xff\x00", b"[]"])
def test_a_damaged_plan_begins_anew(three, folder, garbage):
    (folder / "plan.json").write_bytes(garbage)
    assert ExtractedParts(folder, PLAN).stop == 0
    assert ExtractedParts(folder, PLAN).stop == 0
    (folder / "plan.json").unlink()
    assert ExtractedParts(folder, PLAN).stop == 0


@pytest.mark.parametrize("left", [0, 4, 100, -1])
def test_a_torn_part_and_what_follows_go(three, folder, left):
    torn = sorted(folder.glob("part-*"))[1]
    torn.write_bytes(torn.read_bytes()[:left])
    parts = ExtractedParts(folder, PLAN)
    assert (parts.stop, numbers(parts)) == (8, [0, 1, 2, 3, 4, 6, 7])
    assert len(list(folder.glob("part-*"))) == 1
    parts.write([block(8, 13)])
    assert numbers(ExtractedParts(folder, PLAN)) == [*range(5), *range(6, 13)]


def test_a_gap_ends_what_can_be_used(three, folder):
    sorted(folder.glob("part-*"))[0].unlink()
    assert ExtractedParts(folder, PLAN).stop == 0


def test_a_part_that_was_being_written_is_nobodys(three, folder):
    (folder / "part-000000000013-000000000020.writing").write_bytes(b"half")
    parts = ExtractedParts(folder, PLAN)
    assert parts.stop == 13
    parts.remove()
    assert not folder.exists()


def test_what_is_not_ours_stays(folder):
    folder.mkdir()
    (folder / "thesis.txt").write_text("the only copy")
    parts = ExtractedParts(folder, PLAN)
    parts.write([block(0, 4)])
    parts.remove()
    assert [p.name for p in folder.iterdir()] == ["thesis.txt"]


def test_a_file_in_the_way(folder):
    folder.write_text("x")
    with pytest.raises(UserError, match="cannot be written"):
        ExtractedParts(folder, PLAN)


def test_a_folder_whose_name_looks_like_a_partition(tmp_path):
    (tmp_path / "n=7").mkdir()
    parts = ExtractedParts(tmp_path / "n=7" / "x.partial", PLAN)
    parts.write([block(0, 2)])
    assert parts.labels()["n"].to_pylist() == [0, 1]
    assert numbers(parts) == [0, 1]
