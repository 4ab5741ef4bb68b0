"""`withhold bench codebook-speed`: seconds of a fit, compared with `mass`, and their growth."""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from withhold.bench.fit_in_subprocess import SubprocessFit, fit_in_subprocess
from withhold.bench.fit_row import row_config
from withhold.bench.recipe import find_recipe
from withhold.bench.result_table import BenchResult, Cells, at_most, percent
from withhold.core.progress import Progress
from withhold.datasets.public import public
from withhold.learn.nets.device import core_count
from withhold.methods import Journal, get_method, read_config
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

RIVAL = "audiomnist-audit"  # the recipe that `mass` has its settings from
SUPPRESS, USEFUL = "speaker", "digit"
# Each fit of a solver: its settings, and what it preserves.
SOLVERS: dict[str, tuple[dict[str, Any], str]] = {
    "codebook, self-label": ({}, ""),
    "codebook, barycentre": ({"solver": "barycentre", "use_labels": True}, ""),
    "codebook, substitute": ({"solver": "substitute"}, USEFUL),
}
OURS = next(iter(SOLVERS))


@dataclass(frozen=True)
class Sizes:
    """How large everything is; tests make it small, and its networks by `settings`."""

    settings: dict[str, Any] = field(default_factory=dict)  # of every codebook, beside its own
    turns: int = 3  # fits of each solver, of which the median counts
    times: tuple[int, ...] = (1, 4, 16)  # records over those of the training part
    directions: int = 256  # features of the growing data
    grown: int = 60  # codes of the growing data: as many as 1x has by itself
    classes: int = 1000
    records: int = 40  # of a class
    features: int = 64
    codes: tuple[int, ...] = (64, 512, 4096)


@dataclass(frozen=True)
class CodebookSpeed(BenchResult):
    """Seconds by method; fits of growing data; fits with many classes and codes."""

    records: int
    features: int
    cores: int
    seconds: dict[str, float]
    growth: tuple[SubprocessFit, ...]
    many: tuple[SubprocessFit, ...]
    title, command, file = "The speed of codebook", "codebook-speed", "codebook-speed.json"

    @property
    def ratio(self) -> float:
        """Seconds of `mass` over those of self-label."""
        return self.seconds["mass"] / self.seconds[OURS]

    def tables(self) -> list[tuple[str, Cells]]:
        """Beside `mass`, with growing data, with many codes."""
        ours = self.seconds[OURS]
        base = self.growth[0].seconds
        beside = [[name, f"{s:.1f}", f"{s / ours:.1f}"] for name, s in self.seconds.items()]
        growth = ["records", "seconds", "over the first", "memory, GiB", "data, GiB", "floor"]
        grown = [
            [f"{g.records:,}", f"{g.seconds:.1f}", f"{g.seconds / base:.2f}",
             f"{g.gibibytes:.2f}", f"{g.data_gibibytes:.2f}", percent(g.floor),
             at_most(g.bound), percent(g.useful)]
            for g in self.growth
        ]  # fmt: skip
        coded = [
            [f"{m.codes:,}", f"{m.seconds:.1f}", f"{m.gibibytes:.2f}", f"{m.data_gibibytes:.3f}"]
            for m in self.many
        ]
        first = self.many[0]
        size = f"{self.records:,} x {self.features:,}, {self.cores} cores"
        return [
            (f"Seconds of a fit of {size}", (["method", "seconds", "over self-label"], beside)),
            (
                f"Growth with the records, {self.growth[0].features} features",
                ([*growth, "certificate", USEFUL], grown),
            ),
            (
                f"{first.classes:,} classes, {first.records:,} records of {first.features}"
                " features",
                (["codes", "seconds", "memory, GiB", "data, GiB"], coded),
            ),
        ]

    @property
    def legend(self) -> str:
        """What the tables show, and what was aimed at."""
        return (
            f"mass, with its pre-training, takes {self.ratio:.1f} times as long as self-label (aim:"
            f" at least 5), which takes {self.seconds[OURS]:.1f} s (aim: at most 30). Only the fit"
            " is timed, without its certificate; codebook has the median of several fits. memory:"
            " the peak of resident memory beyond the data, each fit in a fresh process."
            f" certificate: no attacker reads more of {SUPPRESS} from one record, in %; {USEFUL}:"
            " what the best table from codes to classes reads, in %. Both are on the same test"
            " records in every line. codes: those that were kept."
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures, for a program."""
        return asdict(self) | {"ratio": self.ratio}


def measure_codebook_speed(
    output: Path, *, progress: Progress, sizes: Sizes | None = None
) -> CodebookSpeed:
    """Measure, write codebook-speed.json and table.md to `output`, and return the figures."""
    sizes = sizes or Sizes()
    data = public("audiomnist", progress=progress)
    seconds = _beside_mass(data, sizes, progress)
    growth = []
    for times in sizes.times:
        grown = grow(data, times, sizes.directions)
        progress.say(f"growth: {len(grown.part('train')):,} records")
        config = sizes.settings | {"codes": sizes.grown}
        growth.append(fit_in_subprocess(grown, SUPPRESS, config, useful=USEFUL, folder=output))
    crowd = many_people(sizes.classes, sizes.records, sizes.features)
    many = []
    for codes in sizes.codes:
        progress.say(f"{sizes.classes:,} classes, {codes:,} codes")
        config = sizes.settings | {"codes": codes}
        many.append(fit_in_subprocess(crowd, "label", config, folder=output))
    size = (len(data.part("train")), data.dimension, core_count())
    return CodebookSpeed(*size, seconds, tuple(growth), tuple(many)).write(output)


def _beside_mass(data: Dataset, sizes: Sizes, progress: Progress) -> dict[str, float]:
    """Seconds of each fit, the solvers in turns and `mass` in the middle of them."""
    rival = find_recipe(RIVAL)
    row = next(r for r in rival.rows if r.method == "mass")
    taken: dict[str, list[float]] = {name: [] for name in (*SOLVERS, "mass")}
    for turn in range(sizes.turns):
        for name, (own, preserve) in SOLVERS.items():
            roles = Roles.of(SUPPRESS, preserve)
            config = sizes.settings | own
            taken[name].append(_seconds(data, "codebook", config, roles, progress))
        if turn == sizes.turns // 2:
            roles = Roles.of(row.suppress, row.preserve)
            taken["mass"].append(_seconds(data, "mass", row_config(rival, row), roles, progress))
    return {name: round(statistics.median(found), 2) for name, found in taken.items()}


def _seconds(
    data: Dataset, name: str, config: dict[str, Any], roles: Roles, progress: Progress
) -> float:
    """The fit alone: no check of the roles, no certificate."""
    settings = read_config(name, config)
    started = time.perf_counter()
    get_method(name).fit(data, roles, settings, progress, seed=0, journal=Journal())
    return time.perf_counter() - started


def grow(data: Dataset, times: int, directions: int) -> Dataset:
    """The training records `times` over, each copy moved by a little noise; the test part as is.

    In the first principal directions of the training part. The deviation of the noise is a fiftieth
    of that of each feature. Every class keeps its share.
    """
    train, test = data.part("train"), data.part("test")
    centre = train.x.mean(axis=0, dtype=np.float64)
    covariance = np.cov(train.x.T.astype(np.float64))
    axes = np.linalg.eigh(covariance)[1][:, ::-1][:, :directions]
    one, other = (((part.x - centre) @ axes).astype(np.float32) for part in (train, test))
    scale = (0.02 * one.std(axis=0)).astype(np.float32)
    rng = np.random.default_rng(0)
    copies = [one] + [
        one + scale * rng.standard_normal(one.shape, np.float32) for _ in range(times - 1)
    ]
    table = pa.concat_tables([*([train.table] * times), test.table]).select(
        [SUPPRESS, USEFUL, "split"]
    )
    return Dataset.from_arrays(np.concatenate([*copies, other]), table, name=f"{times}x")


def many_people(classes: int, records: int, features: int) -> Dataset:
    """A Gaussian around a centre of its own for every class, all of it to be fitted."""
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(classes), records)
    centres = rng.standard_normal((classes, features))
    x = centres[label] + rng.standard_normal((len(label), features))
    table = {
        "label": pa.array([f"p{i:04d}" for i in label]),
        "split": pa.array(["train"] * len(label)),
    }
    return Dataset.from_arrays(x.astype(np.float32), table, name="many people")
