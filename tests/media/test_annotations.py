"""Labels over time: known values at known frames, windows with the labels of their centre."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.core.errors import UserError
from withhold.media.annotations import Annotations, Interval

LABELS = {
    "wave_1.avi": {
        "face": [[0, 128, 1], [129, 141, 2]],
        "gender": [[0, 141, [2, 1]]],
        "nudity": [[10, 20, 0]],
        "action": "wave",
        "review": True,
        "note": "",
    },
    "sit_1.avi": {"gender": [[0, 30, 2]], "action": "sit"},
}


def read(labels: Any, folder: Path) -> Annotations:
    path = folder / "labels.json"
    path.write_text(json.dumps(labels), "utf-8")
    return Annotations.read(path)


def test_labels_at_known_frames(tmp_path: Path) -> None:
    known = read(LABELS, tmp_path)
    assert known.attributes == ["action", "face", "gender", "nudity"]
    # Both ends are inclusive.
    for frame, face in ((0, 1), (128, 1), (129, 2), (141, 2), (142, None), (10_000, None)):
        assert known.value("wave_1.avi", "face", frame) == face
    assert [known.value("wave_1.avi", "nudity", f) for f in (9, 10, 20, 21)] == [None, 0, 0, None]
    assert known.labels_at("wave_1.avi", 15) == {
        "face": 1, "gender": "1+2", "nudity": 0, "action": "wave"
    }  # fmt: skip
    assert known.labels_at("wave_1.avi", 500) == {"action": "wave"}
    assert known.value("sit_1.avi", "face", 0) is None


def test_values_of_an_attribute_have_one_type(tmp_path: Path) -> None:
    known = read(LABELS, tmp_path)
    types = {attribute: known.type_of(attribute) for attribute in known.attributes}
    assert types == {
        "action": pa.string(), "face": pa.int64(), "gender": pa.string(), "nudity": pa.int64()
    }  # fmt: skip
    assert known.value("sit_1.avi", "gender", 3) == "2"


def test_a_video_is_found_by_its_name_without_folders(tmp_path: Path) -> None:
    known = read(LABELS, tmp_path)
    assert "wave/wave_1.avi" in known
    assert known.value("a/b/sit_1.avi", "action", 0) == "sit"
    assert "wave_2.avi" not in known
    assert known.windows("wave_2.avi", 100) == []
    with pytest.raises(UserError, match=r"'wave_2.avi' is not in .*did you mean 'wave_1.avi'"):
        known.labels_at("wave_2.avi", 0)
    with pytest.raises(UserError, match=r"attribute 'fase' .*did you mean 'face'"):
        known.value("wave_1.avi", "fase", 0)


def test_a_video_has_the_label_that_covers_most_of_it(tmp_path: Path) -> None:
    known = read({"a": {"face": [[0, 9, 1], [10, 30, 2], [31, 45, 1]], "who": "Ann"}}, tmp_path)
    assert known.video_labels("a", 46) == {"face": 1, "who": "Ann"}
    assert known.video_labels("a", 31) == {"face": 2, "who": "Ann"}


def test_a_folder_is_read_with_its_actions(tmp_path: Path) -> None:
    # An interval that begins on the frame that the last one ends on, as in the published files.
    labels = {"hug_1.avi": {"face": [[0, 4, 2], [5, 11, 1], [11, 29, 2]], "review": True}}
    (tmp_path / "hug.json").write_text(json.dumps(labels))
    (tmp_path / "sit.json").write_text(json.dumps({"sit_1.avi": {"face": [[0, 3, 0]]}}))
    known = Annotations.read(tmp_path)
    assert [known.value("hug_1.avi", "face", f) for f in (10, 11, 12)] == [1, 2, 2]
    assert known.labels_at("sit_1.avi", 1) == {"face": 0, "action": "sit"}
    (tmp_path / "run.json").write_text(json.dumps({"sit_1.avi": {}}))
    with pytest.raises(UserError, match=r"'sit_1\.avi' is in another file"):
        Annotations.read(tmp_path)


def test_windows_of_a_known_video(tmp_path: Path) -> None:
    known = read(LABELS, tmp_path)
    windows = known.windows("wave_1.avi", 142, 16, 2)
    # Cut at 10, 21 and 129: [0, 9] and [129, 141] are too near an end to have a centre in them.
    assert [(w.first, w.centre) for w in windows] == [(0, 15), (24, 39), (60, 75), (96, 111)]
    assert [known.labels_at("wave_1.avi", w.centre).get("nudity") for w in windows] == [0] + [
        None
    ] * 3
    # Frames without any interval have no window, though the action is known everywhere.
    assert [w.centre for w in known.windows("sit_1.avi", 400)] == [15]
    plain = read({"a": {"action": "wave"}}, tmp_path)
    assert len(plain.windows("a", 96)) == 3


LENGTHS = st.lists(st.integers(1, 80), min_size=1, max_size=6)


@given(LENGTHS, st.integers(1, 3))
def test_a_window_has_its_centre_in_the_stretch_it_stands_for(
    lengths: list[int], step: int
) -> None:
    intervals, start = [], 0
    for value, length in enumerate(lengths):
        intervals.append(Interval(start, start + length - 1, value))
        start += length
    known = Annotations({"a": {"which": tuple(intervals)}})
    count = start + 16
    windows = known.windows("a", count, 16, step)
    assert len(set(windows)) == len(windows)
    assert all(w.last < count for w in windows)
    found = [known.value("a", "which", w.centre) for w in windows]
    assert None not in found
    fits = windows[0].last - windows[0].first + 1 if windows else 31
    for interval in intervals:
        inside = interval.start >= fits // 2 and interval.end < count - fits // 2 - 1
        share = (interval.end - interval.start + 1) // (16 * step)
        if inside:
            assert found.count(interval.value) == max(share, 1)


def test_the_digest_tells_labels_apart(tmp_path: Path) -> None:
    first = read(LABELS, tmp_path).digest()
    assert read(json.loads(json.dumps(LABELS)), tmp_path).digest() == first
    other = {**LABELS, "sit_1.avi": {"gender": [[0, 31, 2]], "action": "sit"}}
    assert read(other, tmp_path).digest() != first


WHERE = r"labels\.json: video 'a', attribute 'face'"


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"a": {"face": [[0, 9, 1], [5, 12, 2]]}}, f"{WHERE}: .0, 9. and .5, 12. overlap"),
        ({"a": {"face": [[3, 9, 1], [3, 3, 2]]}}, "overlap"),
        ({"a": {"face": [[9, 3, 1]]}}, f"{WHERE}, interval .9, 3, 1.: it starts after"),
        ({"a": {"face": [[-1, 3, 1]]}}, "the first frame of a video is 0"),
        ({"a": {"face": [[0, 3]]}}, r"interval \[0, 3\]: write \[start, end, value\]"),
        ({"a": {"face": [[0, 3.5, 1]]}}, "frame numbers"),
        ({"a": {"face": [[0, True, 1]]}}, "frame numbers"),
        ({"a": {"face": [1, 2]}}, r"interval 1: write \[start, end, value\]"),
        ({"a": {"face": [[0, 3, {}]]}}, "{} is not a label"),
        ({"a": {"face": {"0": 1}}}, "is not a label"),
        ({"a": [1]}, "video 'a': its labels must map"),
        ([1], "must map the names of videos"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(labels: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=words) as caught:
        read(labels, tmp_path)
    assert "\n" not in str(caught.value)


def test_broken_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    for text in ("{", "[" * 100_000, "\udcff"):
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        with pytest.raises(UserError, match=r"labels\.json is not JSON"):
            Annotations.read(path)
    with pytest.raises(UserError, match="cannot be read"):
        Annotations.read(tmp_path / "none.json")
    path.unlink()
    with pytest.raises(UserError, match=r"holds no \.json file"):
        Annotations.read(tmp_path)
