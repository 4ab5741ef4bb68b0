"""`withhold bench audit-power`: planted leaks against the ladder, and against what others use."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.atomic import write_bytes
from withhold.audit.evaluate import evaluate
from withhold.audit.pool import run_all
from withhold.bench.rivals import RIVALS
from withhold.data.worlds import World, full_leak, no_leak
from withhold.data.worlds.planted import PLANTED
from withhold.dataset import Dataset
from withhold.errors import UserError
from withhold.progress import Progress

SEEDS = 100
AIM = 0.95
# A radial SVM of 15,000 records takes minutes and a network of ART's longer; all see as many.
MOST_FOR_RIVALS = 20_000


@dataclass(frozen=True)
class Leak:
    """One planted leak: the best possible accuracy, ours, and the others'."""

    name: str
    records: int
    features: int
    majority: float
    bayes: float  # in closed form
    reached: float  # by the Bayes rule on the very same test records
    audit: float
    attacker: str
    seconds: float
    rivals: dict[str, float] = field(default_factory=dict)

    def way(self, accuracy: float) -> float:
        """How much of the way from the majority to the Bayes rule."""
        return (accuracy - self.majority) / (self.reached - self.majority)


@dataclass(frozen=True)
class PowerResult:
    """Planted leaks, and the two controls."""

    leaks: tuple[Leak, ...]
    held: int  # seeds without a leak whose interval holds the majority
    alarms: int  # seeds without a leak that were called readable
    seeds: int
    full: dict[str, float]  # accuracy on full leaks, by their number of classes
    seconds: float

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and lines: the share of the way from majority to Bayes, in %."""
        rivals = list(self.leaks[0].rivals)
        header = ["leak", "majority", "Bayes", "audit", "of the way", "by", *rivals]
        lines = []
        for leak in self.leaks:
            numbers = (leak.majority, leak.bayes, leak.audit)
            cells = [leak.name, *(f"{100 * v:.1f}" for v in numbers)]
            cells += [f"{100 * leak.way(leak.audit):.0f} %", leak.attacker]
            lines.append([*cells, *(f"{100 * leak.way(v):.0f} %" for v in leak.rivals.values())])
        return header, lines

    @property
    def controls(self) -> str:
        """The controls in words."""
        full = ", ".join(f"{100 * v:.1f} % of {k} classes" for k, v in self.full.items())
        return (
            f"Without a leak the interval held the majority in {self.held} of {self.seeds} seeds"
            f" (aim: 93 of 100), and {self.alarms} were called readable. Of a full leak was read:"
            f" {full}."
        )

    def to_markdown(self) -> str:
        """The table as Markdown."""
        header, lines = self.cells()
        rule = ["---"] + ["---:"] * (len(header) - 1)
        body = "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *lines])
        return f"`withhold bench audit-power`\n\n{body}\n\n{LEGEND} {self.controls}\n"

    def to_dict(self) -> dict[str, Any]:
        """Everything, for a machine."""
        return asdict(self)

    def print(self) -> None:
        """The table in a terminal."""
        from withhold.bench.result import print_cells

        print_cells("The power of the audit", *self.cells(), f"{LEGEND} {self.controls}")


LEGEND = (
    "Accuracy in %; 'of the way' and the columns of the others: from the majority (0 %) to the"
    " Bayes rule on the same test records (100 %). ART: attribute inference baselines of the"
    " Adversarial Robustness Toolbox."
)


def measure_power(output: Path, *, progress: Progress) -> PowerResult:
    """Every planted leak, then the controls; a leak that was measured before is not again."""
    started = time.monotonic()
    leaks = []
    for name, world in PLANTED.items():
        saved = output / f"leak-{name.replace(' ', '-')}.json"
        if not saved.exists():
            leak = measure_leak(name, world(), RIVALS, progress=progress)
            write_bytes(saved, json.dumps(asdict(leak), indent=1).encode())
        leaks.append(Leak(**json.loads(saved.read_text())))
    full = {
        str(k): read(as_data(full_leak(4000, max(2 * k, 16), k, seed=1)))[0] for k in (2, 10, 50)
    }
    with progress.stage("audits without a leak", SEEDS) as stage:
        tasks = [(1.0, seed) for seed in range(SEEDS)]
        quiet = dict(run_all(without_leak, tasks, workers=None, stage=stage))
    result = PowerResult(
        tuple(leaks),
        sum(held for held, _ in quiet.values()),
        sum(alarm for _, alarm in quiet.values()),
        SEEDS,
        full,
        time.monotonic() - started,
    )
    write_bytes(output / "power.json", json.dumps(result.to_dict(), indent=1).encode() + b"\n")
    write_bytes(output / "table.md", result.to_markdown().encode())
    return result


def measure_leak(
    name: str, world: World, rivals: Mapping[str, Any], *, progress: Progress, seed: int = 0
) -> Leak:
    """The audit and its rivals on one world; rivals learn from train and val together."""
    data = as_data(world)
    started = time.monotonic()
    accuracy, attacker, majority = read(data, seed=seed, progress=progress)
    seconds = time.monotonic() - started
    label, parts = data.attribute("label"), data.parts
    assert parts is not None
    test = parts == "test"
    reached = float((world.guess["label"][test] == label.codes[test]).mean())
    rows = np.flatnonzero(~test)[:MOST_FOR_RIVALS]
    found = {}
    with progress.stage(f"others on {name}", len(rivals)) as bar:
        for rival, guess in rivals.items():
            found[rival] = _accuracy(guess, data.x, label.codes, rows, test, seed)
            bar.advance(note=rival)
    return Leak(
        name,
        len(data),
        data.dimension,
        majority,
        world.bayes["label"],
        reached,
        accuracy,
        attacker,
        round(seconds, 1),
        found,
    )


def without_leak(seed: int) -> tuple[bool, bool]:
    """An audit of labels that have nothing to do with x: does its interval hold the majority, and
    does it raise no alarm?"""
    data = as_data(no_leak(1000, 8, 2 + seed % 3, seed=seed))
    found = evaluate(data, None, "label", seed=seed, workers=1).attributes["label"]
    low, high = found.informed.ci
    return bool(low <= found.majority <= high), found.readable


def read(
    data: Dataset, *, seed: int = 0, progress: Progress | None = None
) -> tuple[float, str, float]:
    """The informed accuracy on `label`, by which attacker, and the majority."""
    found = evaluate(data, None, "label", seed=seed, progress=progress).attributes["label"]
    return found.informed.accuracy, found.informed.attacker, found.majority


def as_data(world: World) -> Dataset:
    """A world as a dataset."""
    return Dataset.from_arrays(world.x, world.attributes)


def _accuracy(
    guess: Any,
    x: npt.NDArray[np.float32],
    codes: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    test: npt.NDArray[np.bool_],
    seed: int,
) -> float:
    try:
        return float((guess(x[rows], codes[rows], x[test], seed) == codes[test]).mean())
    except UserError as error:
        raise UserError(f"{error}; audit-power compares with others on the same data") from error
