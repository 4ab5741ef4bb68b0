"""`withhold bench soundness`: over generated populations, how often is a certificate wrong?"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from withhold.atomic import write_bytes
from withhold.bench.population import (
    Population,
    draw_people,
    draw_population,
    leaky_population,
)
from withhold.certificate.bound import (
    chernoff,
    mcdiarmid,
    plug_in,
    self_bounding,
    upper_bound,
)
from withhold.progress import Progress

POPULATIONS = 1000
CONFIDENCE = 0.95
RECORDS = (50, 6000)
SEED = 0x50
PLUG_IN = "records: plug-in, no bound"  # what a certificate would be without its slack


@dataclass(frozen=True)
class Row:
    """One bound over all populations: how often the truth lay above it, and by how much below."""

    claim: str
    populations: int
    exceeded: int
    slack: float  # mean of bound less truth
    vacuous: int  # bounds of 1, which say nothing

    @property
    def rate(self) -> float:
        """The share of populations in which the bound was wrong."""
        return self.exceeded / self.populations


@dataclass(frozen=True)
class SoundnessResult:
    """Every bound, and a channel that gives everything away."""

    rows: tuple[Row, ...]
    leaky: dict[str, float]
    seconds: float

    @property
    def sound(self) -> bool:
        """Whether every bound kept its promise, and the leaky channel was not let pass."""
        kept = all(row.rate <= 1 - CONFIDENCE for row in self.rows if row.claim != PLUG_IN)
        return kept and self.leaky["bound"] >= self.leaky["truth"]

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and lines."""
        header = ["bound", "populations", "truth above it", "mean slack", "says nothing"]
        lines = [
            [
                row.claim,
                f"{row.populations:,}",
                f"{row.exceeded} ({100 * row.rate:.1f} %)",
                f"{100 * row.slack:.2f}",
                f"{row.vacuous}",
            ]
            for row in self.rows
        ]
        return header, lines

    @property
    def legend(self) -> str:
        """What the table shows, and the leaky channel."""
        leak = self.leaky
        return (
            f"At {100 * CONFIDENCE:g} % confidence the truth may lie above a bound in"
            f" {100 * (1 - CONFIDENCE):.0f} % of populations. Slack: bound less truth, in points."
            f" A channel that gives all away ({leak['records']:.0f} records): truth"
            f" {100 * leak['truth']:.1f} %, plug-in {100 * leak['plug_in']:.1f} %, bound"
            f" {100 * leak['bound']:.1f} %."
        )

    def to_markdown(self) -> str:
        """The table as Markdown."""
        header, lines = self.cells()
        rule = ["---"] + ["---:"] * (len(header) - 1)
        body = "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *lines])
        return f"`withhold bench soundness`\n\n{body}\n\n{self.legend}\n"

    def to_dict(self) -> dict[str, Any]:
        """Everything, for a machine."""
        return asdict(self) | {"confidence": CONFIDENCE, "sound": self.sound}

    def print(self) -> None:
        """The table in a terminal."""
        from withhold.bench.result import print_cells

        print_cells("The soundness of the certificate", *self.cells(), self.legend)


def measure_soundness(output: Path, *, progress: Progress) -> SoundnessResult:
    """Draw populations, certify a sample of each, compare with the truth."""
    started = time.monotonic()
    found: dict[str, list[tuple[float, float]]] = {}
    with progress.stage("populations", POPULATIONS) as bar:
        for seed in range(POPULATIONS):
            for claim, truth, bound in judge(seed):
                found.setdefault(claim, []).append((truth, bound))
            bar.advance()
    rows = tuple(_row(claim, np.asarray(pairs)) for claim, pairs in found.items())
    result = SoundnessResult(rows, _leaky(leaky_population()), time.monotonic() - started)
    write_bytes(output / "soundness.json", json.dumps(result.to_dict(), indent=1).encode() + b"\n")
    write_bytes(output / "table.md", result.to_markdown().encode())
    return result


def judge(seed: int) -> Iterator[tuple[str, float, float]]:
    """(bound, truth, what the bound says) of one population by record, and one of people."""
    rng = np.random.default_rng([SEED, seed])
    world, m = draw_population(rng), _size(rng)
    table, truth = world.table(m, rng), world.best
    p = plug_in(table, m)
    two = mcdiarmid(p, m, CONFIDENCE), self_bounding(p, m, CONFIDENCE)
    yield "records: McDiarmid", truth, two[0]
    yield "records: self-bounding", truth, two[1]
    yield "records: the smaller of these", truth, min(two)
    yield "records: Chernoff", truth, chernoff(p, m, CONFIDENCE)
    yield "records: as certified", truth, upper_bound(p, m, CONFIDENCE).value
    yield PLUG_IN, truth, p
    people, groups = draw_people(rng), _size(rng)
    p = plug_in(people.table(groups, rng), groups)
    yield "groups: as certified", people.best, upper_bound(p, groups, CONFIDENCE).value


def _size(rng: np.random.Generator) -> int:
    low, high = np.log(RECORDS)
    return round(float(np.exp(rng.uniform(low, high))))


def _row(claim: str, pairs: np.ndarray[Any, np.dtype[np.float64]]) -> Row:
    truth, bound = pairs[:, 0], pairs[:, 1]
    return Row(
        claim,
        len(pairs),
        int((truth > bound + 1e-12).sum()),  # beyond rounding
        float((bound - truth).mean()),
        int((bound >= 1).sum()),
    )


def _leaky(world: Population, records: int = 1000) -> dict[str, float]:
    p = plug_in(world.table(records, np.random.default_rng(SEED)), records)
    bound = upper_bound(p, records, CONFIDENCE).value
    return {"records": records, "truth": world.best, "plug_in": p, "bound": bound}
