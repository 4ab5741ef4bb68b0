"""`withhold bench soundness`: how often is a certificate wrong, over generated worlds?

Every world is treated like a user's data: a bundle, `certify`, `release_dataset`. Two claims are
checked. For *later* records, the truth of the population may exceed the stated bound in 5 % of
worlds. For the *given* release, no attack on the released rows may ever exceed its bound.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.audit.pool import run_all
from withhold.bench.release_worlds import KINDS, SECRET, ReleaseWorld
from withhold.bench.result_table import BenchResult, Cells
from withhold.certificate.linked_bound import linked_rate
from withhold.core.progress import Progress
from withhold.records.feasibility import contingency
from withhold.release.released_dataset import ReleasedDataset, release_dataset

WORLDS = 1000  # of each kind
CONFIDENCE = 0.95
SEED = 0x50
_SETS = 20  # random sets of labelled rows of an elimination attack

Judged = tuple[str, float, float]  # claim, truth or attack, bound


@dataclass(frozen=True)
class SoundnessRow:
    """One claim over all worlds of a kind: how often it was wrong, and how far it was too high."""

    kind: str
    claim: str
    worlds: int
    exceeded: int
    slack: float  # mean of bound less truth
    vacuous: int  # bounds of 1, which say nothing

    @property
    def rate(self) -> float:
        """The share of worlds in which the bound was wrong."""
        return self.exceeded / self.worlds

    @property
    def kept(self) -> bool:
        """Whether the promise was kept: at most 5 %, and for a given release never."""
        return self.rate <= (1 - CONFIDENCE if self.claim.startswith("later") else 0.0)


@dataclass(frozen=True)
class SoundnessResult(BenchResult):
    """Every claim in every kind of world."""

    rows: tuple[SoundnessRow, ...]
    seconds: float
    title, command, file = "The soundness of the certificate", "soundness", "soundness.json"
    left = 2
    legend = (
        "later: the true success of the best attacker on later records may exceed the stated bound"
        f" in {100 * (1 - CONFIDENCE):.0f} % of worlds. given: attacks on the released rows, by"
        " someone who knows the labels and the table of classes by codes, never exceed their bound."
        " slack: bound less truth, in points. Worlds: Gaussian classes; 2 to 200 distinct records;"
        " people with several records; 40 to 400 records that are really fitted."
    )

    @property
    def sound(self) -> bool:
        """Whether every promise was kept."""
        return all(row.kept for row in self.rows)

    def cells(self) -> Cells:
        """A line for each claim in each kind of world."""
        header = ["world", "claim", "worlds", "bound exceeded", "mean slack", "says nothing"]
        lines = [
            [
                row.kind,
                row.claim,
                f"{row.worlds:,}",
                f"{row.exceeded} ({100 * row.rate:.1f} %)",
                f"{100 * row.slack:.2f}",
                f"{row.vacuous}",
            ]
            for row in self.rows
        ]
        return header, lines

    def to_dict(self) -> dict[str, Any]:
        """All figures, for a program."""
        return asdict(self) | {"confidence": CONFIDENCE, "sound": self.sound}


def measure_soundness(output: Path, *, progress: Progress) -> SoundnessResult:
    """Draw worlds, certify and release each, compare with the truth and with attacks."""
    started = time.monotonic()
    rows = []
    for kind in KINDS:
        found: dict[str, list[tuple[float, float]]] = {}
        with progress.stage(f"{kind} worlds", WORLDS) as bar:
            tasks = [(1.0, seed) for seed in range(WORLDS)]
            for _, judged in run_all(partial(judge, kind), tasks, workers=None, stage=bar):
                for claim, truth, bound in judged:
                    found.setdefault(claim, []).append((truth, bound))
        rows += [_row(kind, claim, np.asarray(pairs)) for claim, pairs in found.items()]
    return SoundnessResult(tuple(rows), time.monotonic() - started).write(output)


def judge(kind: str, seed: int) -> list[Judged]:
    """Every claim about one world."""
    rng = np.random.default_rng([SEED, list(KINDS).index(kind), seed])
    world = KINDS[kind](rng)
    found: list[Judged] = []
    if world.bound is not None:
        found.append(("later: one record", world.truth, world.bound))
    return [*found, *_given(world, rng)]


def _given(world: ReleaseWorld, rng: np.random.Generator) -> Iterator[Judged]:
    """Attacks on the rows of the release, beside what its certificate says."""
    released = release_dataset(world.bundle, world.data)
    assert released.certificate is not None
    claim = released.certificate.attributes[SECRET].release
    if claim is None:
        return
    table = _table(released, world)
    n = int(table.sum())
    yield "given: one record", float(table.max(axis=0).sum() / n), claim.one
    rates = [_eliminate(table, n // 2, rng) for _ in range(_SETS)]
    # The bound is on the mean over random sets of labelled rows.
    least = np.mean(rates) - 4 * np.std(rates) / np.sqrt(_SETS)
    yield "given: half of the labels known", float(least), claim.known["0.5"]
    linked = linked_rate(table.astype(np.float64), 20, seed=int(rng.integers(2**31)))
    least = linked.mean - 4 * linked.deviation / np.sqrt(max(linked.draws, 1))
    yield "given: 20 records of one class", float(least), claim.linked["20"]


def _table(released: ReleasedDataset, world: ReleaseWorld) -> npt.NDArray[np.int64]:
    """Classes by codes, read off the released rows and the original labels: (K, N)."""
    code = np.unique(released.x, axis=0, return_inverse=True)[1].reshape(-1)
    s = world.data.attribute(SECRET).codes[released.original_rows]
    table = contingency(s, code)
    occurring: npt.NDArray[np.int64] = table[table.sum(axis=1) > 0]
    return occurring


def _eliminate(table: npt.NDArray[np.int64], known: int, rng: np.random.Generator) -> float:
    """Guess the class with most rows left at each code, so many labels being known."""
    left = rng.multivariate_hypergeometric(table.reshape(-1), int(table.sum()) - known)
    return float(left.reshape(table.shape).max(axis=0).sum() / max(left.sum(), 1))


def _row(kind: str, claim: str, pairs: npt.NDArray[np.float64]) -> SoundnessRow:
    truth, bound = pairs[:, 0], pairs[:, 1]
    return SoundnessRow(
        kind,
        claim,
        len(pairs),
        int((truth > bound + 1e-9).sum()),  # beyond rounding
        float((bound - truth).mean()),
        int((bound >= 1).sum()),
    )
