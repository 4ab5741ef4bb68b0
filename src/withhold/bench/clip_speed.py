"""`withhold bench clip-speed`: a training step of `meta` against one of `adversarial`.

A step is one update of the anonymiser and one of each opponent. The methods take turns within one
run, on the same random clips; `meta` alternates between its two kinds of sets.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from withhold.bench.result_table import BenchResult, Cells
from withhold.core.progress import Progress
from withhold.learn.nets.device import core_count, threads
from withhold.methods.clips.adversarial.fit import AnonymiserStep, whole_step
from withhold.methods.clips.adversarial.step import ClipPlayers, action_step, privacy_step
from withhold.methods.clips.label_heads import Head, LabelHeads
from withhold.methods.clips.labelled_clips import ClipPart, LabelledClips
from withhold.methods.clips.meta.config import MetaConfig
from withhold.methods.clips.meta.fit import EpochSets

TURNS = 5
CASES: tuple[dict[str, Any], ...] = ({"height": 32, "width": 32}, {"height": 48, "width": 64})
# How the anonymiser is updated, by name.
UPDATES: dict[str, dict[str, Any]] = {
    "meta": {},
    "meta, first order": {"order": "first"},
    "meta, joint": {"sets": "joint"},
}


@dataclass(frozen=True)
class TimedUpdate:
    """Seconds of a step: all networks, and the anonymiser alone; the median of the turns."""

    frames: str
    update: str
    step: float
    anonymiser: float
    step_ratio: float  # over `adversarial`
    anonymiser_ratio: float


@dataclass(frozen=True)
class ClipSpeed(BenchResult):
    """Every case and update."""

    timed: tuple[TimedUpdate, ...]
    title, command, file = "A training step of meta", "clip-speed", "speed.json"
    legend = (
        "step: the anonymiser and all opponents, one batch. ratio: over adversarial in the same"
        " run. Aim: at most 2.2 for the exact second-order step."
    )

    def cells(self) -> Cells:
        """A line for each case and update."""
        header = ["frames", "update", "step, ms", "ratio", "anonymiser, ms", "ratio"]
        return header, [
            [
                t.frames,
                t.update,
                f"{1e3 * t.step:.0f}",
                f"{t.step_ratio:.2f}",
                f"{1e3 * t.anonymiser:.0f}",
                f"{t.anonymiser_ratio:.2f}",
            ]
            for t in self.timed
        ]


def measure_clip_speed(
    output: Path,
    *,
    progress: Progress,
    cases: tuple[dict[str, Any], ...] = CASES,
    turns: int = TURNS,
) -> ClipSpeed:
    """Time a step of each update, with all threads."""
    timed: list[TimedUpdate] = []
    with progress.stage("steps", len(cases)) as bar, threads(core_count()):
        for case in cases:
            timed += _timed(MetaConfig(**case), turns)
            bar.advance()
    return ClipSpeed(tuple(timed)).write(output)


def _timed(config: MetaConfig, turns: int) -> list[TimedUpdate]:
    data = random_clips(config)
    players = ClipPlayers.start(data, config, 0, torch.device("cpu"))
    players.start_optimisers(config)
    updates = {"adversarial": whole_step(players, data, config)}
    for name, changes in UPDATES.items():
        changed = config.model_copy(update=changes)
        draw = torch.Generator().manual_seed(0)
        updates[name] = EpochSets.draw(players, data, changed, draw).step
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in updates}
    for turn in range(turns + 1):
        for name, update in updates.items():
            found = _seconds(players, update, config)
            if turn:  # the first one warms up
                taken[name].append(found)
    medians = {
        name: [statistics.median(column) for column in zip(*found, strict=True)]
        for name, found in taken.items()
    }
    shown = f"{config.batch} x {config.frames} x {config.height} x {config.width}"
    step, alone = medians["adversarial"]
    return [
        TimedUpdate(shown, name, m[0], m[1], m[0] / step, m[1] / alone)
        for name, m in medians.items()
    ]


def _seconds(
    players: ClipPlayers, update: AnonymiserStep, config: MetaConfig
) -> tuple[float, float]:
    """Of a whole step, and of its anonymiser: the mean of an odd and an even step."""
    generator = torch.Generator().manual_seed(0)
    players.train()
    rows = torch.arange(config.batch)
    whole = alone = 0.0
    for number in (1, 2):
        started = time.perf_counter()
        seen, _ = update(number, rows, generator)
        alone += time.perf_counter() - started
        action_step(players, seen)
        for model in range(len(players.privacy)):
            privacy_step(players, model, seen)
        whole += time.perf_counter() - started
    return whole / 2, alone / 2


def random_clips(config: MetaConfig) -> LabelledClips:
    """Noise with an action and two private attributes."""
    draw = torch.Generator().manual_seed(0)
    count = 4 * config.batch
    shape = (count, config.frames, 3, config.height, config.width)
    part = ClipPart(
        torch.randint(0, 256, shape, generator=draw, dtype=torch.uint8),
        torch.randint(0, 8, (count, 1), generator=draw),
        torch.randint(0, 8, (count, 2), generator=draw),
    )
    private = LabelHeads((Head("one", 8, multilabel=False), Head("two", 8, multilabel=False)))
    return LabelledClips(part, None, LabelHeads((Head("action", 8, multilabel=False),)), private)
