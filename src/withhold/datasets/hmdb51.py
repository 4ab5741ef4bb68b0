"""HMDB51 (Kuehne et al., 2011) from the folder that its authors publish.

hmdb51_org/ACTION/*.avi
testTrainMulti_7030_splits/ACTION_test_split1.txt     FILE 0, 1 or 2: not used, train, test

The name of a video is SOURCE_ACTION_body_camera_people_view_quality_number.avi. Clips of one
source (a film, an upload) are of one `group`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from withhold.core.errors import UserError
from withhold.datasets.clip_windows import ClipWindows
from withhold.datasets.label_lists import read_lines
from withhold.datasets.video_set import (
    ListedVideo,
    VideoSet,
    every_clip,
    first_folder,
    listed_videos,
    require_videos,
)
from withhold.records.dataset import Dataset
from withhold.records.readers.media_folder import MediaFolder

GROUP = "group"
PARTS = {"1": "train", "2": "test"}  # 0: not used in this split
VIDEOS = ("hmdb51_org", "videos")  # folders with the videos
_CODES = re.compile(r"_[a-z]_[a-z]{2}_np\d_[a-z]{2}_[a-z]{3}_\d+$")


def read_hmdb51(folder: str | Path, *, split: int = 1, most: int | None = None) -> Dataset:
    """The videos of an official split with `action` and `group`, decoded when needed."""
    return Dataset.of_media(listed_hmdb51(Path(folder), split, most), group=GROUP)


class Hmdb51Set(VideoSet):
    """HMDB51 from $WITHHOLD_DATA/hmdb51, or from another folder, as clips."""

    name = "hmdb51"

    split: int = Field(1, ge=1, le=3, description="which official split")

    def cut_clips(self, most: int | None) -> ClipWindows:
        """The clips of at most `most` videos."""
        return every_clip(listed_hmdb51(self.root, self.split, most), self.cut)


def listed_hmdb51(
    folder: Path, split: int, most: int | None, *, without: frozenset[str] = frozenset()
) -> MediaFolder:
    """The videos of a split, except those whose file names are in `without`."""
    if not folder.is_dir():
        raise UserError(f"cannot read {folder}: there is no such file")
    lists = first_folder(folder, "testTrainMulti_7030_splits", "splits")
    ending = f"_test_split{split}.txt"
    files = sorted(lists.glob(f"*{ending}"))
    if not files:
        raise UserError(f"cannot read {lists / f'ACTION{ending}'}: there is no such file")
    videos = [v for f in files for v in _videos(f, f.name.removesuffix(ending))]
    require_videos(videos, lists)
    left = [video for video in videos if Path(video.path).name not in without]
    return listed_videos(first_folder(folder, *VIDEOS), left, most)


def source_of(name: str, action: str) -> str:
    """The film or upload that a video was cut from.

    >>> source_of("April_09_brush_hair_u_nm_np1_ba_goo_0", "brush_hair")
    'April_09'
    """
    return _CODES.sub("", name).removesuffix(f"_{action}")


def _videos(path: Path, action: str) -> Iterator[ListedVideo]:
    for line in read_lines(path):
        *words, part = line.cells
        name = " ".join(words)
        if not name or part not in ("0", "1", "2"):
            raise line.error("expected a video and 0, 1 or 2")
        if part in PARTS:
            group = source_of(Path(name).stem, action)
            labels = {"action": action, GROUP: group, "split": PARTS[part]}
            yield ListedVideo(line, f"{action}/{name}", labels)
