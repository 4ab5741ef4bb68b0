"""The records of MaSS on clips (Tables 4, 15 and 16), of three public sets.

Train: images of VISPR, which have the five private attributes of PA-HMDB51 and no action, and
videos of HMDB51 (split 1) that are not in PA-HMDB51, which have an action and no private
attributes. An image is a clip of equal frames. Test: the test images of VISPR with the test videos
of HMDB51, or PA-HMDB51 frame by frame. Both have the same train part, so that fits are the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from withhold.datasets.clip_windows import ClipCut, ClipWindows, Joined
from withhold.datasets.hmdb51 import GROUP, listed_hmdb51
from withhold.datasets.pa_hmdb51 import FRAME, annotated_clips, read_annotations
from withhold.datasets.public import data_folder
from withhold.datasets.video_set import VideoSet, every_clip
from withhold.datasets.vispr import listed_vispr
from withhold.records.readers import Collection, Selection
from withhold.records.readers.collection import FILE

Test = Literal["vispr", "pa-hmdb51"]
SOURCE = "source"


class Hmdb51VisprSet(VideoSet):
    """VISPR, HMDB51 and PA-HMDB51 from $WITHHOLD_DATA, as clips with the labels that they have.

    `folder` holds the folders `vispr`, `hmdb51` and `pa-hmdb51`.
    """

    name = "hmdb51-vispr"

    test: Test = Field("vispr", description="test images of VISPR, or clips of PA-HMDB51")
    every: int = Field(16, ge=1, description="frames between clips of PA-HMDB51; MaSS takes 1")

    @property
    def root(self) -> Path:
        """The folder with the three sets."""
        return Path(self.folder) if self.folder else data_folder()

    def cut_clips(self, most: int | None) -> ClipWindows:
        """The clips; of each set at most `most` videos or images."""
        return mass_clips(self.root, self.test, self.every, self.cut, most)


def mass_clips(folder: Path, test: Test, every: int, cut: ClipCut, most: int | None) -> ClipWindows:
    """The train part, the same for every `test`, and then the test part."""
    annotated = read_annotations(folder / "pa-hmdb51")
    images = listed_vispr(folder / "vispr", "pa-hmdb", most)
    videos = listed_hmdb51(
        folder / "hmdb51", 1, most, without=frozenset(Path(v).name for v in annotated.videos)
    )
    parts: list[tuple[str, Collection, ClipWindows]] = []
    for part in ("train", "val", "test"):
        if part == "test" and test == "pa-hmdb51":
            clips = annotated_clips(folder / "pa-hmdb51", folder / "hmdb51", every, cut, most)
            parts.append(("pa-hmdb51", clips.whole, _as_test(clips)))
            continue
        for source, media in (("vispr", images), ("hmdb51", videos)):
            some = _part_of(media, part)
            if len(some):
                one = ClipCut(cut.side, cut.crop, cut.frames, cut.step, 1)
                parts.append((source, some, every_clip(some, one if source == "vispr" else cut)))
    whole = Joined.of([media for _, media, _ in parts], "HMDB51 and VISPR")
    tables, given, before = [], {}, 0
    for source, media, clips in parts:
        names = pa.array([source] * len(clips))
        table = clips.table.append_column(SOURCE, names)
        tables.append(table.drop_columns([c for c in (FRAME, GROUP) if c in table.column_names]))
        given |= {before + place: windows for place, windows in clips.given.items()}
        before += len(media)
    table = pa.concat_tables(tables, promote_options="default")
    order = [FILE, SOURCE, *(c for c in table.column_names if c not in (FILE, SOURCE))]
    return ClipWindows(whole, table.select(order), cut, given)


def _part_of(media: Collection, part: str) -> Collection:
    table = media.labels()
    assert table is not None
    here = np.asarray(table["split"].to_pylist()) == part
    return Selection.of(media, np.flatnonzero(here))


def _as_test(clips: ClipWindows) -> ClipWindows:
    """All of PA-HMDB51 is for testing."""
    place = clips.table.column_names.index("split")
    table = clips.table.set_column(place, "split", pa.array(["test"] * len(clips)))
    return ClipWindows(clips.whole, table, clips.cut, clips.given)
