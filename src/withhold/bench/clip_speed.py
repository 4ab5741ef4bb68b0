"""`withhold bench clip-speed`: a training step of `meta` against one of `adversarial`.

A step is one update of the anonymiser and one of each opponent. The methods take turns within one
run, on the same random clips, and so do the bare convolutions of a step of `adversarial`; `meta`
alternates between its two kinds of sets. Memory is the peak of a fresh process that does two steps.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from withhold.bench.bare_convolutions import BareConvolutions
from withhold.bench.process_memory import figure_of
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
    bare: float | None  # the convolutions of a step of `adversarial`
    peak: float | None  # bytes


@dataclass(frozen=True)
class ClipSpeed(BenchResult):
    """Every case and update."""

    timed: tuple[TimedUpdate, ...]
    title, command, file = "A training step of meta", "clip-speed", "speed.json"
    legend = (
        "step: the anonymiser and all opponents, one batch. ratio: over adversarial in the same"
        " run; aim: at most 2.2 for the exact second-order step. bare: the convolutions of this"
        " step alone, forward and backward, in the same run; aim of the step over them: at most"
        " 1.3. peak: memory of a fresh process that takes two steps; aim: under 8 GiB."
    )

    def cells(self) -> Cells:
        """A line for each case and update."""
        header = ["frames", "update", "step, ms", "ratio", "anonymiser, ms", "ratio"]
        header += ["bare, ms", "over bare", "peak, MB"]
        return header, [
            [
                t.frames,
                t.update,
                f"{1e3 * t.step:.0f}",
                f"{t.step_ratio:.2f}",
                f"{1e3 * t.anonymiser:.0f}",
                f"{t.anonymiser_ratio:.2f}",
                "–" if t.bare is None else f"{1e3 * t.bare:.0f}",
                "–" if t.bare is None else f"{t.step / t.bare:.2f}",
                "–" if t.peak is None else f"{t.peak / 1e6:.0f}",
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
    data, players = _started(config)
    updates = {name: _update(name, players, data, config) for name in ("adversarial", *UPDATES)}
    bare = bare_step(players, updates["adversarial"], config)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in updates}
    alone: list[float] = []
    for turn in range(turns + 1):
        for name, update in updates.items():
            found = _seconds(players, update, config)
            if turn:  # the first one warms up
                taken[name].append(found)
        took = _seconds_of(bare.run)
        alone += [took] if turn else []
    medians = {
        name: [statistics.median(column) for column in zip(*found, strict=True)]
        for name, found in taken.items()
    }
    shown = f"{config.batch} x {config.frames} x {config.height} x {config.width}"
    whole, first = medians["adversarial"]
    return [
        TimedUpdate(
            shown,
            name,
            *(step, anonymiser, step / whole, anonymiser / first),
            bare=statistics.median(alone) if name == "adversarial" else None,
            peak=peak_memory(config, name) if name in ("adversarial", "meta") else None,
        )
        for name, (step, anonymiser) in medians.items()
    ]


def _started(config: MetaConfig) -> tuple[LabelledClips, ClipPlayers]:
    data = random_clips(config)
    players = ClipPlayers.start(data, config, 0, torch.device("cpu"))
    players.start_optimisers(config)
    players.train()
    return data, players


def _update(
    name: str, players: ClipPlayers, data: LabelledClips, config: MetaConfig
) -> AnonymiserStep:
    """How the anonymiser is updated."""
    if name == "adversarial":
        return whole_step(players, data, config)
    changed = config.model_copy(update=UPDATES[name])
    return EpochSets.draw(players, data, changed, torch.Generator().manual_seed(0)).step


def bare_step(players: ClipPlayers, update: AnonymiserStep, config: MetaConfig) -> BareConvolutions:
    """The convolutions of a step: the anonymiser, the action model and each privacy model."""
    bare, rows = BareConvolutions(), torch.arange(config.batch)
    with bare.recorded(players.anonymiser, (players.action, *players.privacy)):
        seen, _ = update(1, rows, torch.Generator().manual_seed(0))
    with bare.recorded(players.action):
        action_step(players, seen)
    for model, network in enumerate(players.privacy):
        with bare.recorded(network):
            privacy_step(players, model, seen)
    return bare


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


def _seconds_of(step: Callable[[], None]) -> float:
    started = time.perf_counter()
    step()
    return time.perf_counter() - started


def peak_memory(config: MetaConfig, name: str) -> float:
    """Bytes of a fresh process that takes two steps."""
    code = """
import json, sys
from withhold.bench.clip_speed import take_steps
take_steps(json.loads(sys.argv[1]), sys.argv[2])
print(peak())
"""
    return figure_of(code, json.dumps(config.model_dump(mode="json")), name)


def take_steps(settings: dict[str, Any], name: str) -> None:
    """Two steps with this update of the anonymiser, for `peak_memory`."""
    config = MetaConfig(**settings)
    data, players = _started(config)
    _seconds(players, _update(name, players, data, config), config)


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
