"""Leaks that are planted in whole releases: rows, columns, precision. Found or not, and by what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.evaluate import evaluate
from withhold.core.progress import Progress
from withhold.datasets.worlds.leaky import LEAKY, LeakyRelease, harmless
from withhold.records.dataset import Dataset
from withhold.records.files import open_sink

CONTROLS = 100


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


def measure_release_leaks(*, seed: int, progress: Progress) -> tuple[ReleaseLeak, ...]:
    """The whole audit of every leaky release."""
    found = []
    for name, make in LEAKY.items():
        progress.say(f"leak in a release: {name}")
        found.append(measure_one(name, make, seed=seed, progress=progress))
    return tuple(found)


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


def cells(leaks: tuple[ReleaseLeak, ...]) -> tuple[list[str], list[list[str]]]:
    """Header and lines of the table."""
    header = ["leak in a release", "Bayes", "found", "tier", "read", "floor", "by"]
    lines = [
        [
            leak.name,
            f"{100 * leak.bayes:.1f}",
            "yes" if leak.found else "no",
            leak.tier if leak.found else "",
            f"{100 * leak.accuracy:.1f}",
            f"{100 * leak.floor:.1f}",
            leak.attacker,
        ]
        for leak in leaks
    ]
    return header, lines
