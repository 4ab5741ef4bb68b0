"""Leaks that are planted in whole releases: rows, columns, precision. Found or not, and by what."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from withhold.actions.audit import audit as evaluate
from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.pool import run_all
from withhold.bench.result import markdown_table, print_cells
from withhold.core.atomic import write_bytes
from withhold.core.progress import Progress
from withhold.datasets.worlds.leaky import LEAKY, LeakyRelease, harmless
from withhold.records.dataset import Dataset
from withhold.records.files import open_sink

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
class ReleaseLeaksResult:
    """Every leak in every seed, and the false alarms of releases without one."""

    leaks: tuple[tuple[ReleaseLeak, ...], ...]  # by leak and seed
    alarms: int

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and lines, in %."""
        header = ["leak in a release", "Bayes", "found", "read", "floor", "tier", "by"]
        lines = []
        for draws in self.leaks:
            found = [d for d in draws if d.found]
            read = [100 * d.accuracy for d in draws]
            lines.append(
                [
                    draws[0].name,
                    f"{100 * np.mean([d.bayes for d in draws]):.1f}",
                    f"{len(found)} of {len(draws)}",
                    f"{np.mean(read):.1f} ± {np.std(read):.1f}",
                    f"{100 * np.mean([d.floor for d in draws]):.1f}",
                    ", ".join(dict.fromkeys(d.tier for d in found)),
                    ", ".join(dict.fromkeys(d.attacker for d in found)),
                ]
            )
        return header, lines

    @property
    def legend(self) -> str:
        """What the figures are."""
        return (
            f"4,000 x 16 each, the whole audit; accuracy in %, mean and standard deviation of"
            f" {len(SEEDS)} seeds, of the tier that reads most. Bayes: the best attacker with the"
            f" whole file. Of {CONTROLS} releases with six harmless columns and no leak"
            f" {self.alarms} were called readable."
        )

    def to_markdown(self) -> str:
        """The table as Markdown."""
        table = markdown_table(*self.cells(), left=1)
        return f"`withhold bench release-leaks`\n\n{table}\n\n{self.legend}\n"

    def to_dict(self) -> dict[str, Any]:
        """Everything, for a machine."""
        return asdict(self)

    def print(self) -> None:
        """The table in a terminal."""
        print_cells("Leaks planted in whole releases", *self.cells(), self.legend)


def measure_release_leaks(output: Path, *, progress: Progress) -> ReleaseLeaksResult:
    """The whole audit of every leaky release; one that was measured before is not again."""
    leaks = []
    for name, make in LEAKY.items():
        draws = []
        for seed in SEEDS:
            saved = output / f"{name}-{seed}.json"
            if not saved.exists():
                progress.say(f"leak in a release: {name}, seed {seed}")
                one = measure_one(name, make, seed=seed, progress=progress)
                write_bytes(saved, json.dumps(asdict(one), indent=1).encode())
            draws.append(ReleaseLeak(**json.loads(saved.read_text())))
        leaks.append(tuple(draws))
    with progress.stage("releases without a leak", CONTROLS * 3) as stage:
        tasks = [(3.0, seed) for seed in range(CONTROLS)]
        said = run_all(harmless_alarm, tasks, workers=None, stage=stage)
        alarms = sum(found for _, found in said)
    result = ReleaseLeaksResult(tuple(leaks), alarms)
    text = json.dumps(result.to_dict(), indent=1).encode() + b"\n"
    write_bytes(output / "release-leaks.json", text)
    write_bytes(output / "table.md", result.to_markdown().encode())
    return result


def measure_one(
    name: str,
    make: Callable[..., LeakyRelease],
    *,
    seed: int,
    quick: bool = False,
    progress: Progress | None = None,
) -> ReleaseLeak:
    """The audit of one leaky release, as a file."""
    made = make(seed=seed)
    a = audit_of(made, seed=seed, quick=quick, progress=progress)
    tier = a.tiers[a.worst_tier]
    where = a.column.column if a.worst_tier == "column" and a.column is not None else ""
    by = getattr(tier, "attacker", "")
    return ReleaseLeak(
        name.replace("_", " "),
        made.bayes,
        a.readable,
        f"{a.worst_tier} {where}".strip(),
        by,
        tier.accuracy,
        a.floor_of(a.worst_tier),
    )


def audit_of(
    made: LeakyRelease,
    *,
    seed: int,
    quick: bool,
    workers: int | None = None,
    progress: Progress | None = None,
) -> AttributeEvidence:
    """What an audit of the file finds out about `label`."""
    original = Dataset.from_arrays(made.original, made.attributes)
    features = pa.FixedSizeListArray.from_arrays(made.release.ravel(), made.release.shape[1])
    table = pa.table({"x": features})
    for name in () if made.columns is None else made.columns.column_names:
        assert made.columns is not None
        table = table.append_column(name, made.columns[name])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "release.parquet"
        with open_sink(path, table.schema) as sink:
            for batch in table.to_batches():
                sink.write(batch)
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
