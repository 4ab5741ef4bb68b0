"""`withhold bench media-speed`: extraction against bare decoding and forward passes, and memory.

Both sides do the same work on the same files, in turns within one run: the bare side in a plain
loop, ours with its threads, its order, its parts on disk and its Parquet. Memory is the peak of a
fresh process that extracts from a number of files, and from ten times as many.
"""

from __future__ import annotations

import shutil
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from withhold.bench.process_memory import figure_of, need_proc
from withhold.bench.result_table import BenchResult, Cells
from withhold.core.progress import Progress, Silent
from withhold.media.encode import encode
from withhold.media.extract_features import ExtractionJob, plan
from withhold.media.to_file import extract_to
from withhold.records.samples import Clip, Kind, Picture, Sound

TURNS = 3
# An extractor, its settings, and how many files it is timed on.
CASES: tuple[tuple[str, dict[str, Any], int], ...] = (
    ("logmel", {}, 1500),
    ("ge2e-speaker", {}, 300),
    ("pixels", {}, 600),
    ("hog", {}, 600),
    ("dlib-face", {"faces": "whole"}, 200),
    ("frame-stats", {}, 60),
)
MEMORY = (("logmel", 300), ("pixels", 300))

_EXTRACT = """
import sys
from pathlib import Path
from withhold.media.extract_features import plan
from withhold.media.to_file import extract_to
from withhold.core.progress import Silent
extract_to(plan(sys.argv[1], extractor=sys.argv[2]), Path(sys.argv[3]), progress=Silent())
print(peak() / 2**20)
"""


@dataclass(frozen=True)
class Timed:
    """Files a second, bare and ours: the median of the turns."""

    extractor: str
    files: int
    bare: float
    ours: float

    @property
    def ratio(self) -> float:
        """Ours over bare."""
        return self.ours / self.bare


@dataclass(frozen=True)
class Held:
    """Peak memory in MB of an extraction from `files` files, and from ten times as many."""

    extractor: str
    files: int
    megabytes: float
    megabytes_of_ten: float


@dataclass(frozen=True)
class MediaSpeedResult(BenchResult):
    """Every case."""

    timed: tuple[Timed, ...]
    held: tuple[Held, ...]
    title, command, file = "Extraction", "media-speed", "speed.json"
    legend = (
        "bare: decode, prepare and forward in a plain loop, same batches. Aim of the ratio: at"
        " least 0.8. peak MB: resident memory of a process that extracts from 300 files, and from"
        " 3,000."
    )

    def cells(self) -> Cells:
        """A line for each extractor."""
        header = ["extractor", "files", "bare, files/s", "withhold extract, files/s", "ratio",
                  "peak MB", "of 10 x files"]  # fmt: skip
        held = {h.extractor: h for h in self.held}
        lines = []
        for t in self.timed:
            h = held.get(t.extractor)
            peaks = ["–", "–"] if h is None else [f"{h.megabytes:.0f}", f"{h.megabytes_of_ten:.0f}"]
            figures = [f"{t.bare:.1f}", f"{t.ours:.1f}", f"{t.ratio:.2f}"]
            lines.append([t.extractor, f"{t.files:,}", *figures, *peaks])
        return header, lines

    def to_dict(self) -> dict[str, Any]:
        """All figures, for a program."""
        timed = [asdict(t) | {"ratio": t.ratio} for t in self.timed]
        return {"timed": timed, "held": [asdict(h) for h in self.held]}


def measure_media_speed(
    output: Path,
    *,
    progress: Progress,
    cases: tuple[tuple[str, dict[str, Any], int], ...] = CASES,
    memory: tuple[tuple[str, int], ...] = MEMORY,
) -> MediaSpeedResult:
    """Make files, time both sides, measure memory, delete the files."""
    if memory:
        need_proc("status")
    work = output / "made"
    try:
        timed = []
        for name, settings, files in cases:
            progress.say(f"{name}: {files:,} files")
            timed.append(_timed(name, settings, files, work))
        held = []
        for name, files in memory:
            progress.say(f"{name}: memory")
            few, many = (_peak(name, n, work) for n in (files, 10 * files))
            held.append(Held(name, files, few, many))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return MediaSpeedResult(tuple(timed), tuple(held)).write(output)


def _timed(name: str, settings: dict[str, Any], files: int, work: Path) -> Timed:
    from withhold.media.extractors.extractor_registry import extractor_type

    folder = _made(extractor_type(name).kind, files, work)
    job = plan(folder, extractor=name, settings=settings)
    _bare(job, most=job.extractor.batch)  # loads weights and libraries
    bare, ours = [], []
    for _ in range(TURNS):
        started = time.perf_counter()
        _bare(job)
        bare.append(time.perf_counter() - started)
        started = time.perf_counter()
        extract_to(job, work / "features.parquet", progress=Silent())
        ours.append(time.perf_counter() - started)
    return Timed(name, files, files / statistics.median(bare), files / statistics.median(ours))


def _bare(job: ExtractionJob, most: int | None = None) -> None:
    """The least that an extraction must do: decode, prepare, forward."""
    held = []
    for place, item in enumerate(job.collection.items()):
        if place == most:
            break
        held += [job.extractor.prepare(sample) for sample, _ in job.cutting.cut(item, place)]
        if len(held) >= job.extractor.batch:
            job.extractor.forward(held)
            held = []
    if held:
        job.extractor.forward(held)


def _peak(name: str, files: int, work: Path) -> float:
    """Peak memory in MB of an extraction in a fresh process."""
    from withhold.media.extractors.extractor_registry import extractor_type

    folder = _made(extractor_type(name).kind, files, work)
    return figure_of(_EXTRACT, folder, name, work / "peak.parquet")


def _made(kind: Kind, files: int, work: Path) -> Path:
    """A folder of made-up media: a second of sound, 320 x 240 photographs, clips of 40 frames."""
    folder = work / f"{kind}-{files}"
    if folder.is_dir():
        return folder
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    ten = [_sample(kind, rng) for _ in range(10)]
    suffix = {"image": ".jpg", "sound": ".wav", "clip": ".mp4"}[kind]
    data = [encode(sample, None, suffix) for sample in ten]
    for number in range(files):
        (folder / f"{number:06d}{suffix}").write_bytes(data[number % 10])
    return folder


def _sample(kind: Kind, rng: np.random.Generator) -> Picture | Sound | Clip:
    if kind == "sound":
        time_ = np.arange(16_000) / 16_000
        wave = np.sin(2 * np.pi * rng.uniform(80, 900) * time_) * np.exp(-3 * time_)
        return Sound((0.3 * wave + 0.01 * rng.standard_normal(16_000)).astype(np.float32), 16_000)
    coarse = rng.integers(0, 256, (6, 8, 3), np.uint8)
    picture = np.kron(coarse, np.ones((40, 40, 1), np.uint8))
    if kind == "image":
        return Picture(picture)
    return Clip(np.stack([np.roll(picture, 3 * t, axis=1) for t in range(40)]))
