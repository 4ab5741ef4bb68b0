"""Leaks planted in whole releases (rows, columns, precision): does the audit find them, and how?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from withhold.actions.audit import audit as evaluate
from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.pool import run_all
from withhold.bench.result_table import BenchResult, Cells, percent, with_spread
from withhold.bench.row_cache import keep_row, row_folder, row_key
from withhold.core.progress import Progress
from withhold.datasets.worlds.leaky import LEAKY, LeakyRelease, harmless
from withhold.records.dataset import Dataset

SEEDS = (11, 12, 13)  # the worlds were set up with others
CONTROLS = 60  # releases without a leak


@dataclass(frozen=True)
class ReleaseLeak:
    """One planted leak: what the best attacker reads, and what the audit said."""

    name: str
    bayes: float
    found: bool
    tier: str
    attacker: str
    accuracy: float
    floor: float


@dataclass(frozen=True)
class ReleaseLeaksResult(BenchResult):
    """Every leak in every seed, and the false alarms of releases without a leak."""

    leaks: tuple[tuple[ReleaseLeak, ...], ...]  # by leak and seed
    alarms: int
    title, command = "Leaks planted in whole releases", "release-leaks"
    file = "release-leaks.json"

    def cells(self) -> Cells:
        """A line for each leak, in %."""
        header = ["leak in a release", "Bayes", "found", "read", "floor", "tier", "by"]
        lines = []
        for draws in self.leaks:
            found = [d for d in draws if d.found]
            lines.append(
                [
                    draws[0].name,
                    percent(sum(d.bayes for d in draws) / len(draws)),
                    f"{len(found)} of {len(draws)}",
                    with_spread([d.accuracy for d in draws]),
                    percent(sum(d.floor for d in draws) / len(draws)),
                    ", ".join(dict.fromkeys(d.tier for d in found)),
                    ", ".join(dict.fromkeys(d.attacker for d in found)),
                ]
            )
        return header, lines

    @property
    def legend(self) -> str:
        """What the columns mean."""
        return (
            f"4,000 x 16 each, the whole audit; accuracy in %, mean ± standard deviation of"
            f" {len(SEEDS)} seeds, of the tier that reads most. Bayes: the best attacker with the"
            f" whole file. Of {CONTROLS} releases with six harmless columns and no leak"
            f" {self.alarms} were called readable."
        )


def measure_release_leaks(output: Path, *, progress: Progress) -> ReleaseLeaksResult:
    """The whole audit of every leaky release, or resume after an interruption."""

    def draw(name: str, seed: int) -> ReleaseLeak:
        def measure() -> ReleaseLeak:
            progress.say(f"leak in a release: {name}, seed {seed}")
            return measure_one(name, LEAKY[name], seed=seed, progress=progress)

        folder = row_folder(output, f"{name} {seed}")
        return keep_row(folder, row_key([name, seed]), ReleaseLeak, measure)

    leaks = tuple(tuple(draw(name, seed) for seed in SEEDS) for name in LEAKY)
    with progress.stage("releases without a leak", CONTROLS * 3) as stage:
        tasks = [(3.0, seed) for seed in range(CONTROLS)]
        said = run_all(harmless_alarm, tasks, workers=None, stage=stage)
        alarms = sum(found for _, found in said)
    return ReleaseLeaksResult(leaks, alarms).write(output)


def measure_one(
    name: str, make: Callable[..., LeakyRelease], *, seed: int, progress: Progress
) -> ReleaseLeak:
    """The audit of one leaky release, as a file."""
    made = make(seed=seed)
    a = audit_of(made, seed=seed, progress=progress)
    tier = a.tiers[a.worst_tier]
    where = a.column.column if a.worst_tier == "column" and a.column is not None else ""
    return ReleaseLeak(
        name.replace("_", " "),
        made.bayes,
        a.readable,
        f"{a.worst_tier} {where}".strip(),
        getattr(tier, "attacker", ""),
        tier.accuracy,
        a.floor_of(a.worst_tier),
    )


def audit_of(
    made: LeakyRelease,
    *,
    seed: int,
    quick: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> AttributeEvidence:
    """What an audit of the file finds out about `label`."""
    original = Dataset.from_arrays(made.original, made.attributes)
    features = pa.FixedSizeListArray.from_arrays(made.release.ravel(), made.release.shape[1])
    table = pa.table({"x": features})
    if made.columns is not None:
        for name in made.columns.column_names:
            table = table.append_column(name, made.columns[name])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "release.parquet"
        pq.write_table(table, path)
        return evaluate(
            original,
            Dataset.read(path),
            "label",
            hidden=(),
            same_order=True,
            quick=quick,
            seed=seed,
            workers=workers,
            progress=progress,
        ).attributes["label"]


def harmless_alarm(seed: int) -> bool:
    """Whether a release with six harmless columns and no leak is called readable."""
    made = harmless(800, seed=seed)
    return audit_of(made, seed=seed, quick=True, workers=1).readable
