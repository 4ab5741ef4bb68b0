"""P-HVU: the part of HVU (Diba et al., 2020) with actions, objects and scenes (SPAct, section B).

HVU_Tags_Categories_V1.0.csv     Tag,Category
HVU_Train_V1.0.csv, HVU_Val_V1.0.csv     Tags,video_id,time_start,time_end; tags between bars
videos/ID_000010_000020.mp4      start and end in seconds; also in videos/train and videos/val

Test: the videos of HVU's validation list that have an object and a scene. Train: the videos of its
training list with an action, an object and a scene among those of the test part; tags that the
test part does not have are left out. HVU's videos are downloaded one by one and many are gone:
videos that are not there are left out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from withhold.core.errors import UserError, listing
from withhold.core.safe_read import read_bounded, reason
from withhold.datasets.clip_windows import ClipWindows
from withhold.datasets.label_lists import find_list
from withhold.datasets.media_file import some_records
from withhold.datasets.video_set import VideoSet, every_clip
from withhold.records.dataset import Dataset
from withhold.records.readers.collection import FILE
from withhold.records.readers.media_folder import MediaFolder, stem

CATEGORIES = ("action", "object", "scene")
_MOST_BYTES = 2**30


@dataclass(frozen=True)
class TaggedVideo:
    """A video of HVU by the name of its file, and its tags by category, in order."""

    name: str
    tags: Mapping[str, tuple[str, ...]]

    @property
    def whole(self) -> bool:
        """Whether it has tags of every category."""
        return all(self.tags[category] for category in CATEGORIES)


def read_p_hvu(folder: str | Path, *, most: int | None = None) -> Dataset:
    """The videos with `action`, `object` and `scene`, all multi-label, decoded when needed."""
    return Dataset.of_media(_listed(Path(folder), most))


class PHvuSet(VideoSet):
    """P-HVU from the lists and videos of $WITHHOLD_DATA/hvu, or of another folder, as clips."""

    name = "hvu"

    def cut_clips(self, most: int | None) -> ClipWindows:
        """The clips of at most `most` videos."""
        return every_clip(_listed(self.root, most), self.cut)


def p_hvu(
    train: Iterable[TaggedVideo], val: Iterable[TaggedVideo]
) -> tuple[list[TaggedVideo], list[TaggedVideo]]:
    """The train and test part of P-HVU, from the training and validation videos of HVU."""
    test = [video for video in val if video.whole]
    known = {c: {tag for video in test for tag in video.tags[c]} for c in CATEGORIES}
    kept = (
        TaggedVideo(
            video.name,
            {c: tuple(tag for tag in video.tags[c] if tag in known[c]) for c in CATEGORIES},
        )
        for video in train
    )
    return [video for video in kept if video.whole], test


def _listed(folder: Path, most: int | None) -> MediaFolder:
    categories = _categories(find_list(folder, "HVU_Tags_Categories_V1.0.csv"))
    lists = {n: find_list(folder, f"HVU_{n}_V1.0.csv") for n in ("Train", "Val")}
    train, test = p_hvu(*(_videos(lists[n], categories) for n in ("Train", "Val")))
    root = folder / "videos"
    present = {p.name: p.relative_to(root).as_posix() for p in sorted(root.rglob("*.mp4"))}
    both = [(v, part) for part, videos in (("train", train), ("test", test)) for v in videos]
    here = [(video, part) for video, part in both if video.name in present]
    for part in ("train", "test"):
        if part not in {p for _, p in here}:
            raise UserError(
                f"no video of the {part} part of P-HVU is in {root}; a name is ID_START_END.mp4,"
                " such as abc_000010_000020.mp4"
            )
    here = [here[i] for i in some_records(len(here), most)]
    paths = tuple(present[video.name] for video, _ in here)
    columns = {FILE: pa.array([stem(path) for path in paths])}
    for category in CATEGORIES:
        tags = [list(video.tags[category]) for video, _ in here]
        columns[category] = pa.array(tags, pa.list_(pa.string()))
    columns["split"] = pa.array([part for _, part in here])
    return MediaFolder(root, "clip", paths, 0, pa.table(columns))


def _categories(path: Path) -> dict[str, str]:
    """The category of each tag of ours."""
    found = {tag: category for _, (tag, category) in _rows(path, ("Tag", "Category"))}
    ours = {tag: category for tag, category in found.items() if category in CATEGORIES}
    lacking = [category for category in CATEGORIES if category not in ours.values()]
    if lacking:
        raise UserError(f"{path} lists no tags of the category {listing(lacking)}")
    return ours


def _videos(path: Path, categories: Mapping[str, str]) -> Iterator[TaggedVideo]:
    columns = ("Tags", "video_id", "time_start", "time_end")
    for number, (tags, video, start, end) in _rows(path, columns):
        try:
            name = f"{video}_{round(float(start)):06d}_{round(float(end)):06d}.mp4"
        except ValueError:
            raise UserError(
                f"{path}, line {number}: time_start and time_end must be seconds, not '{start}'"
                f" and '{end}'"
            ) from None
        found = sorted({tag.strip() for tag in tags.split("|")})
        by_kind = {c: tuple(tag for tag in found if categories.get(tag) == c) for c in CATEGORIES}
        yield TaggedVideo(name, by_kind)


def _rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The cells of these columns of a CSV file, line by line."""
    try:
        text = read_bounded(path, _MOST_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {reason(error)}") from error
    lines = csv.reader(io.StringIO(text))
    head = [cell.strip() for cell in next(lines, [])]
    lacking = [column for column in columns if column not in head]
    if lacking:
        raise UserError(f"{path}, line 1: expected the columns {', '.join(columns)}")
    places = [head.index(column) for column in columns]
    for cells in lines:
        if cells:
            if len(cells) < len(head):
                raise UserError(
                    f"{path}, line {lines.line_num}: expected {len(head)} cells, found {len(cells)}"
                )
            yield lines.line_num, [cells[place] for place in places]
