"""`withhold bench soundness`: how often is a certificate wrong, over generated worlds?

Every world is treated like a user's data: a bundle, `certify`, `release_dataset`. Three claims are
checked. For *later* records, the truth of the population may exceed the stated bound in 5 % of
worlds. For the *given* release, no attack on the released rows may ever exceed its bound. For the
*plan* of an exact release, no attacker who does not know the draws may ever exceed it
(`plan_soundness`).
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import withhold
from withhold.audit.pool import run_all
from withhold.bench.given_attacks import Judged, exactly, given_claims
from withhold.bench.less_monte_carlo import less_monte_carlo
from withhold.bench.plan_soundness import judge_plan
from withhold.bench.plan_worlds import PLAN_KINDS
from withhold.bench.release_worlds import KINDS, SECRET, ReleaseWorld
from withhold.bench.result_table import BenchResult, Cells
from withhold.bench.row_cache import keep_row, row_folder, row_key
from withhold.core.progress import Progress
from withhold.records.feasibility import contingency
from withhold.release.released_dataset import ReleasedDataset, release_dataset

WORLDS = 1000  # of each kind
CONFIDENCE = 0.95
SEED = 0x50
# Plans are float32: shares of a row, and sums of many rows, are right to about this much.
_ROUNDING = 1e-6


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
        """Whether the promise was kept: at most 5 % of later records, otherwise never."""
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
        " plan: the best attacker of an exact release who knows all but the draws, computed"
        " exactly, or (redrawn) attacking 120 releases of the same records under other keys."
        " Attacks at random must exceed the bound by more than chance: one false alarm in the whole"
        " table has a chance of 0.1 %. slack: bound less truth, in points, where a random attack"
        " counts with its mean. Worlds: Gaussian classes; 2 to 200 distinct records; people with"
        " several records; 40 to 400 records that are really fitted; 40 to 280 records, 2 to 4"
        " classes and 2 to 4 codes, released by exact, and by plans that nobody balanced. The"
        " certificates are made with a twentieth of the usual Monte Carlo, so that slack is larger"
        " than a user sees."
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
    """Draw worlds, certify and release each, compare with the truth and with attacks.

    Kinds that an interrupted run finished with the same code are not judged again.
    """
    started = time.monotonic()
    kinds, code = (*PLAN_KINDS, *KINDS), _code_digest()
    found = [
        keep_row(
            row_folder(output, f"{kind} worlds"),
            row_key([kind, WORLDS, SEED, code]),
            list[SoundnessRow],
            partial(judge_kind, kind, progress=progress),
        )
        for kind in kinds
    ]
    rows = tuple(row for of_kind in found for row in of_kind)
    return SoundnessResult(rows, time.monotonic() - started).write(output)


def judge_kind(kind: str, *, progress: Progress) -> list[SoundnessRow]:
    """All worlds of a kind."""
    found: dict[str, list[Judged]] = {}
    with progress.stage(f"{kind} worlds", WORLDS) as bar:
        tasks = [(1.0, seed) for seed in range(WORLDS)]
        for _, judged in run_all(partial(judge, kind), tasks, workers=None, stage=bar):
            for one in judged:
                found.setdefault(one.claim, []).append(one)
    return [_row(kind, claim, judged) for claim, judged in found.items()]


def _code_digest() -> str:
    """A digest of this package: figures about other code may not be used again."""
    root = Path(withhold.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def judge(kind: str, seed: int) -> list[Judged]:
    """Every claim about one world."""
    with less_monte_carlo():
        return _judge(kind, seed)


def _judge(kind: str, seed: int) -> list[Judged]:
    number = [*KINDS, *PLAN_KINDS].index(kind)
    rng = np.random.default_rng([SEED, number, seed])
    if kind in PLAN_KINDS:
        return judge_plan(kind, rng)
    world = KINDS[kind](rng)
    found: list[Judged] = []
    if world.bound is not None:
        found.append(exactly("later: one record", world.bound, world.truth))
    released = release_dataset(world.bundle, world.data)
    assert released.certificate is not None
    claim = released.certificate.attributes[SECRET].release
    if claim is None:
        return found
    return [*found, *given_claims(_table(released, world), claim, rng, shares=("0.5",))]


def _table(released: ReleasedDataset, world: ReleaseWorld) -> npt.NDArray[np.int64]:
    """Classes by codes, read off the released rows and the original labels: (K, N)."""
    code = np.unique(released.x, axis=0, return_inverse=True)[1].reshape(-1)
    s = world.data.attribute(SECRET).codes[released.original_rows]
    table = contingency(s, code)
    occurring: npt.NDArray[np.int64] = table[table.sum(axis=1) > 0]
    return occurring


def _row(kind: str, claim: str, judged: list[Judged]) -> SoundnessRow:
    bound, truth, least = np.array([(j.bound, j.truth, j.least) for j in judged]).T
    return SoundnessRow(
        kind,
        claim,
        len(judged),
        int((least > bound + _ROUNDING).sum()),
        float((bound - truth).mean()),
        int((bound >= 1).sum()),
    )
