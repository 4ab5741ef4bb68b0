"""What media sets of videos share: how they are cut, and videos that a list names."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from withhold.core.errors import UserError, listing
from withhold.core.progress import Progress
from withhold.datasets.clip_windows import ClipCut, ClipWindows
from withhold.datasets.label_lists import Line
from withhold.datasets.media_file import MediaFile, some_records
from withhold.datasets.media_set import MediaSet
from withhold.datasets.public import data_folder
from withhold.datasets.sized_pictures import Crop
from withhold.datasets.written_media import write_media
from withhold.records.readers import Collection
from withhold.records.readers.collection import FILE
from withhold.records.readers.media_folder import MediaFolder, stem


class VideoSet(MediaSet):
    """Videos of a folder, cut into clips of one size, in a Parquet file of MP4 bytes.

    The clips are compressed once more (H.264, crf 18) after they are made smaller.
    """

    name: ClassVar[str]  # of the set, and of its folder in $WITHHOLD_DATA

    folder: str | None = Field(None, description="of the set; unset: below $WITHHOLD_DATA")
    side: int = Field(112, ge=16, le=512, description="pixels")
    crop: Crop = Field("whole", description="squeeze the whole frame, or cut a square from it")
    frames: int = Field(16, ge=1, le=256, description="of a clip")
    step: int = Field(2, ge=1, le=64, description="sampling interval, in frames of the video")
    clips: int = Field(1, ge=1, le=100, description="clips of each video, at equal distances")

    @property
    def cut(self) -> ClipCut:
        """How the videos become clips."""
        return ClipCut(self.side, self.crop, self.frames, self.step, self.clips)

    @property
    def root(self) -> Path:
        """The folder of the set."""
        return Path(self.folder) if self.folder else data_folder() / self.name

    @abstractmethod
    def cut_clips(self, most: int | None) -> ClipWindows:
        """The clips of at most `most` videos, with their labels and a column `split`."""

    def write(
        self, folder: Path, most: int | None, *, progress: Progress | None = None
    ) -> MediaFile:
        """Write the clips and labels to a Parquet file."""
        target = folder / f"{self.name}-{self.side}px.parquet"
        return write_media(self.cut_clips(most), target, ".mp4", progress=progress)


@dataclass(frozen=True)
class ListedVideo:
    """A video that a line of a list names; `path` is below the folder of videos."""

    line: Line
    path: str
    labels: Mapping[str, Any]


def listed_videos(root: Path, videos: Sequence[ListedVideo], most: int | None) -> MediaFolder:
    """The videos, or a random `most` of them, in the order of their names, with their labels."""
    if not root.is_dir():
        raise UserError(f"cannot read {root}: there is no such folder")
    ordered = sorted(videos, key=lambda video: video.path)
    for before, video in pairwise(ordered):
        if before.path == video.path:
            where = f"{before.line.path.name}, line {before.line.number}"
            raise video.line.error(f"{video.path} is listed twice (also in {where})")
    chosen = [ordered[i] for i in some_records(len(ordered), most)]
    for video in chosen:
        if not (root / video.path).is_file():
            raise video.line.error(f"the video {root / video.path} is not there")
    columns = {FILE: [stem(video.path) for video in chosen]}
    for name in chosen[0].labels if chosen else ():
        columns[name] = [video.labels[name] for video in chosen]
    table = pa.table({n: pa.array(values, pa.string()) for n, values in columns.items()})
    return MediaFolder(root, "clip", tuple(video.path for video in chosen), 0, table)


def require_videos(videos: Sequence[ListedVideo], where: Path) -> None:
    """Refuse lists that name nothing, or nothing for one of the two parts."""
    parts = {video.labels["split"] for video in videos}
    lacking = [part for part in ("train", "test") if part not in parts]
    if lacking:
        raise UserError(f"{where} lists no videos for {listing(lacking)}")


def every_clip(videos: Collection, cut: ClipCut) -> ClipWindows:
    """`cut.clips` clips of every video, each with the labels of its video."""
    table = videos.labels()
    assert table is not None
    rows = np.repeat(np.arange(len(table)), cut.clips)
    return ClipWindows(videos, table.take(pa.array(rows)), cut)


def first_folder(folder: Path, *names: str) -> Path:
    """The first of these folders that exists, or `folder` itself."""
    return next((folder / name for name in names if (folder / name).is_dir()), folder)
