"""The layouts of public sets of clips, with drawn clips in the place of theirs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from clip_folders import (
    ACTIONS,
    clip_of,
    make_clip_sets,
    make_hmdb51,
    make_hvu,
    make_pa_hmdb51,
    make_ucf101,
    make_vispr,
    write_clip,
)
from support import Recorder
from withhold.core.errors import UserError
from withhold.datasets.clip_windows import ClipCut
from withhold.datasets.hmdb51 import read_hmdb51, source_of
from withhold.datasets.media_sets import public_media
from withhold.datasets.p_hvu import CATEGORIES, TaggedVideo, p_hvu, read_p_hvu
from withhold.datasets.pa_hmdb51 import ATTRIBUTES, read_pa_hmdb51
from withhold.datasets.ucf101 import read_ucf101
from withhold.datasets.vispr import NAMES, Attributes, read_vispr
from withhold.media.cutting import decode
from withhold.records.readers import open_media
from withhold.records.samples import Clip


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip_sets(tmp_path_factory.mktemp("clips"))


class TestUcf101:
    def test_actions_groups_and_the_official_split(self, sets: Path) -> None:
        table = read_ucf101(sets / "ucf101").table
        assert Counter(table["split"].to_pylist()) == {"train": 12, "test": 4}
        assert {*table["action"].to_pylist()} == {"ApplyLipstick", "HandstandPushups"}
        # A group of one action is not that of another, and none is in both parts.
        assert len({*table["group"].to_pylist()}) == 8
        for row in table.to_pylist():
            assert row["group"].startswith(row["action"])
            assert (row["split"] == "test") == row["group"].endswith("g01")

    def test_the_videos_are_those_of_their_labels(self, sets: Path) -> None:
        data = read_ucf101(sets / "ucf101")
        assert data.media is not None
        for item in list(data.media.items())[::5]:
            clip = decode(item.content, "clip")
            assert isinstance(clip, Clip)
            group = int(item.labels["group"][-2:])
            assert abs(float(clip.frames[:, -3:].mean()) - (30 + 25 * group)) < 8

    @pytest.mark.parametrize(
        ("file", "old", "new", "said"),
        [
            ("trainlist01", "_g02_c01.avi 1", "_c01.avi 1", "line 1: expected ACTION/v_ACTION"),
            ("trainlist01", "_c01.avi 1", "_c09.avi 1", "line 1: the video .* is not there"),
            ("trainlist01", "_c01.avi 1", "_c01.avi 2", "'ApplyLipstick' is number 1 .* not 2"),
            ("trainlist01", "_g02_c01", "_g01_c01", "is in train and in test"),
            ("trainlist01", "_g02_c02.avi 1", "_g02_c01.avi 1", r"listed twice \(also in train"),
            ("trainlist01", "ApplyLip", "ApplyLap", "'ApplyLapstick' is not in classInd.txt; did"),
            ("classInd", "1 Apply", "Apply", "line 1: expected a number and the name"),
        ],
    )
    def test_errors_name_the_line(
        self, tmp_path: Path, file: str, old: str, new: str, said: str
    ) -> None:
        folder = make_ucf101(tmp_path / "ucf", groups=2)
        path = folder / "ucfTrainTestlist" / f"{file}.txt"
        path.write_text(path.read_text().replace(old, new, 1))
        with pytest.raises(UserError, match=said):
            read_ucf101(folder)

    def test_other_splits_and_lists_that_are_not_there(self, tmp_path: Path) -> None:
        folder = make_ucf101(tmp_path / "ucf", groups=2, clips=1)
        with pytest.raises(UserError, match=r"cannot read .*trainlist02.txt"):
            read_ucf101(folder, split=2)
        (folder / "ucfTrainTestlist" / "testlist01.txt").write_text("")
        with pytest.raises(UserError, match="lists no videos for test"):
            read_ucf101(folder)


class TestHmdb51:
    def test_zero_one_and_two(self, sets: Path) -> None:
        table = read_hmdb51(sets / "hmdb51").table
        assert Counter(table["split"].to_pylist()) == {"train": 10, "test": 4}
        assert {*table["action"].to_pylist()} == {*ACTIONS}
        assert {*table["group"].to_pylist()} == {f"Film_{i}" for i in range(8)}

    @pytest.mark.parametrize(
        ("name", "source"),
        [
            ("April_09_wave_u_nm_np1_ba_goo_0", "April_09"),
            ("(Rad)Schlag_die_Bank!_wave_f_cm_np1_le_med_12", "(Rad)Schlag_die_Bank!"),
            ("no_codes_at_all", "no_codes_at_all"),
        ],
    )
    def test_sources(self, name: str, source: str) -> None:
        assert source_of(name, "wave") == source

    def test_mistakes(self, tmp_path: Path) -> None:
        folder = make_hmdb51(tmp_path / "hmdb", videos=4)
        path = folder / "testTrainMulti_7030_splits" / "wave_test_split1.txt"
        good = path.read_text()
        path.write_text(good.replace(" 1 ", " 3 ", 1))
        with pytest.raises(
            UserError, match=r"wave_test_split1.txt, line 3: expected a video and 0"
        ):
            read_hmdb51(folder)
        path.write_text(good)
        (folder / "hmdb51_org" / "wave" / good.split()[2]).unlink()
        with pytest.raises(UserError, match=r"line 2: the video .* is not there"):
            read_hmdb51(folder)
        with pytest.raises(UserError, match=r"cannot read .*ACTION_test_split3.txt"):
            read_hmdb51(folder, split=3)


class TestVispr:
    @pytest.mark.parametrize("attributes", list(NAMES))
    def test_labels_by_our_names(self, sets: Path, attributes: Attributes) -> None:
        data = read_vispr(sets / "vispr", attributes=attributes)
        assert Counter(data.table["split"].to_pylist()) == {"train": 20, "val": 10, "test": 10}
        for row in data.table.to_pylist():
            part, name = row["file"].split("/")
            note = json.loads((sets / "vispr/annotations" / part / f"{name}.json").read_text())
            for ours, theirs in NAMES[attributes].items():
                present = any(one in note["labels"] for one in theirs)
                assert row[ours] == ("yes" if present else "no")
                assert (ours in row["privacy"]) == present
        privacy = data.attribute("privacy")
        assert privacy.multilabel
        assert privacy.classes == tuple(sorted(NAMES[attributes]))

    @pytest.mark.parametrize(
        "place", ["train2017_annotation", "train2017", "train2017_annotations"]
    )
    def test_other_places_of_the_labels(self, tmp_path: Path, place: str) -> None:
        folder = make_vispr(tmp_path / "vispr", images=8)
        before = read_vispr(folder).table
        (folder / place).mkdir(exist_ok=True)
        for path in (folder / "annotations" / "train2017").iterdir():
            path.rename(folder / place / path.name)
        assert read_vispr(folder).table == before

    def test_mistakes(self, tmp_path: Path) -> None:
        folder = make_vispr(tmp_path / "vispr", images=8)
        note = next((folder / "annotations" / "train2017").iterdir())
        for text, said in (
            ('{"labels": "a4_gender"}', r"expected \{'labels': \[names of attributes\]\}"),
            ("{", "line 1"),
        ):
            note.write_text(text)
            with pytest.raises(UserError, match=said) as caught:
                read_vispr(folder)
            assert "\n" not in str(caught.value)
        note.unlink()
        with pytest.raises(UserError, match=r"has no labels: .*json is not there"):
            read_vispr(folder)
        (folder / "test2017").rename(folder / "gone")
        with pytest.raises(UserError, match=r"cannot read .*test2017: there is no such file"):
            read_vispr(folder)


class TestPaHmdb51:
    def test_every_clip_has_the_labels_of_its_frame(self, sets: Path) -> None:
        notes = {}
        for path in (sets / "pa-hmdb51" / "PrivacyAttributes").iterdir():
            notes |= json.loads(path.read_text())
        data = read_pa_hmdb51(sets / "pa-hmdb51", sets / "hmdb51", every=10)
        assert len(data) == 6 * 4  # 40 frames of each video
        for row in data.table.to_pylist():
            assert row["file"].split("/")[0] == row["action"]
            note = notes[f"{row['file'].split('/')[1]}.avi"]
            for name in ATTRIBUTES:
                value = note[name][0 if row["frame"] < 20 else 1][2]
                assert row[name] == ("no" if value == 0 else "yes")
                assert (name in row["privacy"]) == (value != 0)
        groups = zip(data.table["group"].to_pylist(), data.table["split"].to_pylist(), strict=True)
        assert len({*groups}) == len({*data.table["group"].to_pylist()})

    def test_clips_lie_about_their_frames(self, sets: Path) -> None:
        """The square of `clip_of` is at t modulo 16."""
        data = read_pa_hmdb51(
            sets / "pa-hmdb51", sets / "hmdb51", every=1, cut=ClipCut(24, "whole", 3, 1)
        )
        assert data.media is not None
        for item in list(data.media.items())[:40:7]:
            assert isinstance(item.content, Clip)
            frame = min(max(item.labels["frame"], 1), 38)
            bright = item.content.frames[1, :, :, 0] > 200
            middle = np.argwhere(bright).mean(axis=0)
            # Resized from 24 x 32 to 24 x 24; the square is 8 pixels wide.
            where = middle[0] - 3.5 if item.labels["action"] == "brush_hair" else None
            where = (middle[1] * 32 / 24 - 3.5) if where is None else where
            assert abs(where - frame % 16) < 1

    def test_several_values_and_one_that_is_present(self, tmp_path: Path) -> None:
        hmdb = make_hmdb51(tmp_path / "hmdb51", videos=4)
        folder = make_pa_hmdb51(tmp_path / "pa", hmdb)
        path = folder / "PrivacyAttributes" / "wave.json"
        notes = json.loads(path.read_text())
        for note in notes.values():
            note["gender"] = [[0, 39, [0, 2]]]
            note["nudity"] = [[0, 39, 0]]
        path.write_text(json.dumps(notes))
        rows = read_pa_hmdb51(folder, hmdb).table.to_pylist()
        wave = [row for row in rows if row["action"] == "wave"]
        assert {row["gender"] for row in wave} == {"yes"}
        assert {row["nudity"] for row in wave} == {"no"}

    def test_mistakes(self, tmp_path: Path) -> None:
        hmdb = make_hmdb51(tmp_path / "hmdb51", videos=4)
        folder = make_pa_hmdb51(tmp_path / "pa", hmdb)
        path = folder / "PrivacyAttributes" / "wave.json"
        notes = json.loads(path.read_text())
        name = next(iter(notes))
        path.write_text(json.dumps({**notes, name: {"face": notes[name]["face"]}}))
        with pytest.raises(UserError, match=f"video '{name}' has no labels of skin_color"):
            read_pa_hmdb51(folder, hmdb)
        path.write_text(json.dumps({**notes, "gone.avi": notes[name]}))
        with pytest.raises(UserError, match=r"the video .*wave/gone.avi is not there"):
            read_pa_hmdb51(folder, hmdb)


class TestPHvu:
    def test_the_rules(self) -> None:
        def video(name: str, action: str, thing: str, scene: str) -> TaggedVideo:
            cells = zip(CATEGORIES, (action, thing, scene), strict=True)
            return TaggedVideo(name, {c: tuple(text.split()) for c, text in cells})

        val = [video("a", "run", "ball", "beach"), video("b", "run", "", "beach")]
        train = [
            video("c", "run", "ball car", "beach"),  # an object that no test video has
            video("d", "run", "car", "beach"),  # no object of the test part is left
            video("e", "dive", "ball", "beach"),  # nor an action
            video("f", "run", "ball", ""),
        ]
        found, test = p_hvu(train, val)
        assert [v.name for v in test] == ["a"]
        assert [v.name for v in found] == ["c"]
        assert found[0].tags["object"] == ("ball",)

    def test_the_lists_and_the_videos_that_are_there(self, sets: Path) -> None:
        data = read_p_hvu(sets / "hvu")
        assert Counter(data.table["split"].to_pylist()) == {"train": 5, "test": 5}
        for name in CATEGORIES:
            assert data.attribute(name).multilabel
        assert data.attribute("object").classes == ("ball", "car")

    def test_mistakes(self, tmp_path: Path) -> None:
        folder = make_hvu(tmp_path / "hvu", videos=3)
        path = folder / "HVU_Val_V1.0.csv"
        good = path.read_text()
        path.write_text(good.replace("1.0,11.0", "soon,11.0"))
        with pytest.raises(UserError, match="line 4: time_start and time_end must be seconds"):
            read_p_hvu(folder)
        path.write_text(good.replace("Tags,", "Words,"))
        with pytest.raises(UserError, match="line 1: expected the columns Tags, video_id"):
            read_p_hvu(folder)
        path.write_text(good)
        (folder / "videos").rename(folder / "elsewhere")
        with pytest.raises(UserError, match="no video of the train part of P-HVU is in"):
            read_p_hvu(folder)


class TestWritten:
    """As files for recipes."""

    def test_windows_of_every_video(
        self, sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("WITHHOLD_DATA", str(sets))
        settings = {"side": 32, "clips": 3, "frames": 8, "step": 1}
        file = public_media("hmdb51", tmp_path, settings=settings)
        media = open_media(file.path, file.kind, column=file.column)
        assert len(media) == 3 * 14
        starts = Counter()
        for item in media.items():
            clip = decode(item.content, "clip")
            assert isinstance(clip, Clip)
            assert clip.frames.shape == (8, 32, 32, 3)
            starts[item.labels["file"]] += 1
        assert {*starts.values()} == {3}

    @pytest.mark.slow
    def test_the_sets_of_mass_share_their_train_part(
        self, sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("WITHHOLD_DATA", str(sets))
        tables = {}
        for test in ("vispr", "pa-hmdb51"):
            settings = {"side": 16, "frames": 16, "step": 1, "test": test, "clips": 2}
            file = public_media("hmdb51-vispr", tmp_path / test, settings=settings)
            tables[test] = pq.read_table(file.path)
        parts = [t.filter(np.asarray(t["split"]) != "test") for t in tables.values()]
        assert parts[0] == parts[1]
        annotated = {
            row["file"] for row in tables["pa-hmdb51"].to_pylist() if row["split"] == "test"
        }
        assert len(annotated) == 6
        for row in parts[0].to_pylist():
            assert row["file"] not in annotated
            assert (row["action"] is None) == (row["source"] == "vispr")
            assert (row["privacy"] is None) == (row["source"] == "hmdb51")
        tested = [r for r in tables["vispr"].to_pylist() if r["split"] == "test"]
        assert Counter(r["source"] for r in tested)["vispr"] == 10

    def test_videos_that_cannot_be_used_are_null_and_said(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = make_hmdb51(tmp_path / "hmdb51", videos=4)
        videos = sorted((folder / "hmdb51_org" / "wave").iterdir())
        write_clip(videos[1], clip_of(0, 1, frames=5))
        videos[2].write_bytes(b"not a video")
        monkeypatch.setenv("WITHHOLD_DATA", str(tmp_path))
        told = Recorder()
        file = public_media("hmdb51", tmp_path / "out", settings={"side": 16}, progress=told)
        table = pq.read_table(file.path)
        lost = [row["file"] for row in table.to_pylist() if row["mp4"] is None]
        assert lost == [f"wave/{path.stem}" for path in videos[1:3]]
        assert any("2 cannot be used, such as wave/" in line for line in told.lines)
        assert any("5 frames, 16 are needed" in line for line in told.lines)
