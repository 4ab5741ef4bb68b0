"""PA-HMDB51 (Wu et al., 2020): videos of HMDB51 with five private attributes of every frame.

PrivacyAttributes/ACTION.json    {"VIDEO.avi": {"face": [[0, 40, 2], [41, 95, 0]], ...}, ...}

The videos are those of HMDB51. An attribute is present (yes) where its value is not 0, as in Wu et
al. and SPAct; of several values of a frame ("0+2"), one is enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pydantic import Field

from withhold.core.errors import UserError, listing
from withhold.datasets.clip_windows import ClipCut, ClipWindows
from withhold.datasets.hmdb51 import GROUP, VIDEOS, source_of
from withhold.datasets.media_file import some_records
from withhold.datasets.public import data_folder
from withhold.datasets.video_set import VideoSet, first_folder
from withhold.datasets.vispr import NAMES, yes_or_no
from withhold.media.annotations import Annotations
from withhold.media.windows import Window
from withhold.records.dataset import Dataset
from withhold.records.readers.collection import FILE
from withhold.records.readers.media_folder import MediaFolder, stem
from withhold.records.samples import BadMedia
from withhold.records.splits import assign_parts

ATTRIBUTES = tuple(NAMES["pa-hmdb"])
FRAME = "frame"


def read_pa_hmdb51(
    folder: str | Path,
    videos: str | Path,
    *,
    every: int = 16,
    cut: ClipCut | None = None,
    most: int | None = None,
) -> Dataset:
    """Clips around every `every`th frame with the labels of that frame; `videos` is HMDB51.

    60 % of the videos are train, 20 % val and 20 % test; the clips of one source stay together.
    """
    clips = annotated_clips(Path(folder), Path(videos), every, cut or ClipCut(), most)
    return Dataset.of_media(clips, group=GROUP)


class PaHmdb51Set(VideoSet):
    """PA-HMDB51 from $WITHHOLD_DATA/pa-hmdb51, with the videos of $WITHHOLD_DATA/hmdb51."""

    name = "pa-hmdb51"

    videos: str | None = Field(None, description="folder of HMDB51")
    every: int = Field(16, ge=1, description="frames between the middles of clips; MaSS takes 1")

    def cut_clips(self, most: int | None) -> ClipWindows:
        """The clips of at most `most` videos."""
        videos = Path(self.videos) if self.videos else data_folder() / "hmdb51"
        return annotated_clips(self.root, videos, self.every, self.cut, most)


@dataclass(frozen=True)
class _Moment:
    """A clip of a video, and the frame whose labels it has."""

    video: str
    frame: int
    window: Window


def annotated_clips(
    folder: Path, videos: Path, every: int, cut: ClipCut, most: int | None
) -> ClipWindows:
    """Clips with the labels of their frames, and a split by source."""
    found = read_annotations(folder)
    names = sorted(found.videos)
    names = [names[i] for i in some_records(len(names), most)]
    root = first_folder(videos, *VIDEOS)
    paths = {name: f"{found.value(name, 'action', 0)}/{name}" for name in names}
    for path in paths.values():
        if not (root / path).is_file():
            raise UserError(f"{found.source}: the video {root / path} is not there")
    order = sorted(names, key=lambda name: paths[name])
    whole = MediaFolder(
        root, "clip", tuple(paths[n] for n in order), 0,
        pa.table({FILE: [stem(paths[n]) for n in order]}),
    )  # fmt: skip
    moments = {name: _moments(found, name, every, cut) for name in order}
    if not any(moments.values()):
        raise UserError(f"{found.source}: no frame has labels of all of {listing(ATTRIBUTES)}")
    given = {place: [m.window for m in moments[name]] for place, name in enumerate(order)}
    flat = [moment for name in order for moment in moments[name]]
    return ClipWindows(whole, _labels(found, flat, paths), cut, given)


def read_annotations(folder: Path) -> Annotations:
    """The annotations, each video with the five attributes."""
    if not folder.is_dir():
        raise UserError(f"cannot read {folder}: there is no such file")
    found = Annotations.read(first_folder(folder, "PrivacyAttributes"))
    for video, labels in found.videos.items():
        lacking = [name for name in ATTRIBUTES if name not in labels]
        if lacking:
            raise UserError(f"{found.source}: video '{video}' has no labels of {listing(lacking)}")
    return found


def _moments(found: Annotations, video: str, every: int, cut: ClipCut) -> list[_Moment]:
    """The frames with labels of all attributes, each with its clip."""
    labels = found.videos[video]
    count = 1 + max(i.end for name in ATTRIBUTES for i in labels[name])
    moments = []
    for frame in range(min(every // 2, count - 1), count, every):
        if all(found.value(video, name, frame) is not None for name in ATTRIBUTES):
            try:
                window = cut.around(frame, count)
            except BadMedia:  # too short; the clip will be skipped, with the reason
                window = Window(0, cut.frames, 1)
            moments.append(_Moment(video, frame, window))
    return sorted(moments, key=lambda moment: (moment.window.last, moment.frame))


def _labels(found: Annotations, moments: list[_Moment], paths: dict[str, str]) -> pa.Table:
    shown = [
        sorted(n for n in ATTRIBUTES if _present(found.value(m.video, n, m.frame))) for m in moments
    ]
    actions = [str(found.value(m.video, "action", 0)) for m in moments]
    groups = [source_of(Path(m.video).stem, a) for m, a in zip(moments, actions, strict=True)]
    columns = {
        FILE: pa.array([stem(paths[m.video]) for m in moments]),
        FRAME: pa.array([m.frame for m in moments]),
        "action": pa.array(actions),
        GROUP: pa.array(groups),
        **yes_or_no(shown, ATTRIBUTES),
    }
    _, codes = np.unique(groups, return_inverse=True)
    parts = assign_parts(len(moments), groups=codes).tolist()
    return pa.table({**columns, "split": pa.array(parts)})


def _present(value: int | str | None) -> bool:
    return value is not None and any(part != "0" for part in str(value).split("+"))
