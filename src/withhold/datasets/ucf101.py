"""UCF101 (Soomro et al., 2012) from the folder that its authors publish.

UCF-101/ACTION/v_ACTION_g01_c01.avi
ucfTrainTestlist/classInd.txt          1 ApplyEyeMakeup
ucfTrainTestlist/trainlist01.txt       ApplyEyeMakeup/v_ApplyEyeMakeup_g08_c01.avi 1
ucfTrainTestlist/testlist01.txt        ApplyEyeMakeup/v_ApplyEyeMakeup_g01_c01.avi

A group (g01 to g25) has the videos of one action that share people and place, so its name has the
action: g01 of one action is not g01 of another. No group is in both parts of a split.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pydantic import Field

from withhold.core.errors import UserError, did_you_mean
from withhold.datasets.clip_windows import ClipWindows
from withhold.datasets.label_lists import Line, find_list, read_lines
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
_GROUP = re.compile(r"_g(\d{2})_c\d{2}$")


def read_ucf101(folder: str | Path, *, split: int = 1, most: int | None = None) -> Dataset:
    """The videos of an official split with `action` and `group`, decoded when needed."""
    return Dataset.of_media(_listed(Path(folder), split, most), group=GROUP)


class Ucf101Set(VideoSet):
    """UCF101 from $WITHHOLD_DATA/ucf101, or from another folder, as clips."""

    name = "ucf101"

    split: int = Field(1, ge=1, le=3, description="which official split")

    def cut_clips(self, most: int | None) -> ClipWindows:
        """The clips of at most `most` videos."""
        return every_clip(_listed(self.root, self.split, most), self.cut)


def _listed(folder: Path, split: int, most: int | None) -> MediaFolder:
    lists = first_folder(folder, "ucfTrainTestlist")
    numbers = _actions(find_list(lists, "classInd.txt"))
    videos = [
        video
        for part in ("train", "test")
        for video in _part(find_list(lists, f"{part}list{split:02d}.txt"), part, numbers)
    ]
    require_videos(videos, lists)
    seen: dict[str, str] = {}
    for video in videos:
        group, part = video.labels[GROUP], video.labels["split"]
        if seen.setdefault(group, part) != part:
            raise video.line.error(f"group {group} is in train and in test")
    return listed_videos(first_folder(folder, "UCF-101", "UCF101", "videos"), videos, most)


def _actions(path: Path) -> dict[str, int]:
    found = {}
    for line in read_lines(path):
        if len(line.cells) != 2 or not line.cells[0].isdigit():
            raise line.error("expected a number and the name of an action")
        found[line.cells[1]] = int(line.cells[0])
    if not found:
        raise UserError(f"{path} is empty")
    return found


def _part(path: Path, part: str, numbers: dict[str, int]) -> Iterator[ListedVideo]:
    for line in read_lines(path):
        video = PurePosixPath(line.cells[0])
        action = video.parent.name
        group = _GROUP.search(video.stem)
        if group is None or not action:
            raise line.error(f"expected ACTION/v_ACTION_g01_c01.avi, not '{line.cells[0]}'")
        if action not in numbers:
            hint = did_you_mean(action, numbers)
            raise line.error(f"action '{action}' is not in classInd.txt{hint}")
        _check_number(line, numbers[action], action)
        labels = {"action": action, GROUP: f"{action}_g{group[1]}", "split": part}
        yield ListedVideo(line, f"{action}/{video.name}", labels)


def _check_number(line: Line, number: int, action: str) -> None:
    if len(line.cells) > 1 and line.cells[1] != str(number):
        raise line.error(f"'{action}' is number {number} in classInd.txt, not {line.cells[1]}")
