"""`withhold bench speed`: our training step and transform against their bare matrix products.

Machines are noisy, so only figures of one run are compared: the two sides take turns, and their
medians over many turns give the ratio.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from withhold.bench.fit_row import bench_key
from withhold.bench.result_table import BenchResult, Cells
from withhold.core.progress import Progress
from withhold.learn.losses.similarity import Similarity
from withhold.learn.nets.attribute_net import AttributeNet
from withhold.learn.nets.contrastive_net import ContrastiveNet
from withhold.learn.nets.device import core_count, threads, threads_for
from withhold.learn.nets.modifier_net import ModifierNet
from withhold.learn.nets.perceptron import folded, unit
from withhold.learn.nets.space import Space
from withhold.learn.training import adamw
from withhold.methods.features.mass import AttributeTerm, MassModifier, modifier_losses
from withhold.methods.features.mass.config import MassConfig

DIMENSION, BATCH, RECORDS = 1024, 512, 8192
CLASSES = (60, 10, 16, 2)


@dataclass(frozen=True)
class SpeedResult(BenchResult):
    """Medians in milliseconds and records a second, and their ratios."""

    step: dict[int, tuple[float, float]]
    rule_threads: int
    transform_rows: float
    forward_rows: float
    title = f"A training step of mass, {BATCH} x {DIMENSION}, 4 attributes and r*"
    command, file = "speed", "speed.json"

    @property
    def step_ratio(self) -> float:
        """Our step at the rule's threads over the bare products at their best threads."""
        best = min(bare for _, bare in self.step.values())
        return self.step[self.rule_threads][0] / best

    @property
    def transform_ratio(self) -> float:
        """Records a second of transform over those of a bare forward pass."""
        return self.transform_rows / self.forward_rows

    def cells(self) -> Cells:
        """A line for each number of threads."""
        lines = [
            [str(count), f"{step:.1f} ms", f"{bare:.1f} ms", f"{step / bare:.2f}"]
            for count, (step, bare) in self.step.items()
        ]
        return ["threads", "step", "its matrix products", "ratio"], lines

    @property
    def legend(self) -> str:
        """The two ratios, and their aims."""
        return (
            f"Our step with the threads that we use ({self.rule_threads}) over the best bare"
            f" products: {self.step_ratio:.2f} (aim: at most 1.6). transform:"
            f" {self.transform_rows:,.0f} records/s; bare forward pass: {self.forward_rows:,.0f}"
            f" records/s; ratio {self.transform_ratio:.2f} (aim: at least 0.8)."
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures, for a program."""
        ratios = {"step_ratio": self.step_ratio, "transform_ratio": self.transform_ratio}
        return asdict(self) | ratios


def measure_speed(output: Path, *, progress: Progress) -> SpeedResult:
    """Time both pairs and write the figures to `output`."""
    step, bare = _training_step(), _bare_products()
    found = {}
    with progress.stage("training step", 2):
        for count in sorted({1, core_count()}):
            with threads(count):
                ours, theirs = _in_turns(step, bare, turns=25)
            found[count] = (1e3 * ours, 1e3 * theirs)
    rule = threads_for(BATCH * DIMENSION * 256.0)
    transform, forward = _transform_pair()
    with progress.stage("transform", 1), threads(rule):
        ours, theirs = _in_turns(transform, forward, turns=15)
    return SpeedResult(found, rule, RECORDS / ours, RECORDS / theirs).write(output)


def _in_turns(
    one: Callable[[], None], two: Callable[[], None], *, turns: int
) -> tuple[float, float]:
    """Median seconds of each, the two run alternately."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(turns + 3):
        for work, kept in zip((one, two), times, strict=True):
            started = time.perf_counter()
            work()
            if turn >= 3:  # the first ones warm caches and allocators
                kept.append(time.perf_counter() - started)
    return statistics.median(times[0]), statistics.median(times[1])


def _training_step() -> Callable[[], None]:
    """One step of `train_modifier`, as it is, on random data."""
    generator = torch.Generator().manual_seed(0)
    x = unit(torch.randn(RECORDS, DIMENSION, generator=generator))
    terms = []
    for i, classes in enumerate(CLASSES):
        model = AttributeNet(DIMENSION, classes).eval().frozen()
        with torch.no_grad():
            z, p = model(x)
        codes = torch.randint(classes, (RECORDS,), generator=generator)
        weights = {"suppress": 5.0, "entropy": 2.0} if i == 0 else {"preserve": 0.5}
        kind: Similarity = "cosine" if i == 0 else "kl"
        terms.append(AttributeTerm(str(i), model, z, p, codes, False, kind, **weights))
    encoder = ContrastiveNet(DIMENSION).eval().frozen()
    with torch.no_grad():
        p_star = encoder(x)
    network = ModifierNet(DIMENSION).train()
    optimiser = adamw(network, rate=0.01, decay=0.05)
    config = MassConfig()
    draws = iter(torch.randint(RECORDS, (200, BATCH), generator=generator))

    def step() -> None:
        losses = modifier_losses(network, x, next(draws), terms, encoder, p_star, config)
        optimiser.zero_grad(set_to_none=True)
        torch.stack(list(losses.values())).sum().backward()
        optimiser.step()

    return step


def _bare_products() -> Callable[[], None]:
    """The matrix products of that step and nothing else, into memory allocated before."""
    products: list[tuple[Tensor, Tensor, Tensor]] = []

    def product(rows: int, inner: int, columns: int) -> None:
        products.append(
            (torch.randn(rows, inner), torch.randn(inner, columns), torch.empty(rows, columns))
        )

    widths = [DIMENSION, 256, 128, 256, DIMENSION]
    for i in range(4):  # the modifier: forward, gradient of the weights, gradient of the input
        product(BATCH, widths[i], widths[i + 1])
        product(widths[i + 1], BATCH, widths[i])
        if i:
            product(BATCH, widths[i + 1], widths[i])
    frozen = [[DIMENSION, 512, 256, classes] for classes in CLASSES]
    frozen.append([DIMENSION, DIMENSION, DIMENSION, DIMENSION, 128])
    for sizes in frozen:  # forward, gradient of the input
        for inputs, outputs in pairwise(sizes):
            product(BATCH, inputs, outputs)
            product(BATCH, outputs, inputs)
    for _ in range(3):  # NT-Xent: three similarity matrices, and the gradients of two
        product(BATCH, 128, BATCH)
    for _ in range(3):
        product(BATCH, BATCH, 128)

    def run() -> None:
        for a, b, out in products:
            torch.mm(a, b, out=out)

    return run


def _transform_pair() -> tuple[Callable[[], None], Callable[[], None]]:
    """Our transform from array to array, and the network's forward pass on one large tensor."""
    network = folded(ModifierNet(DIMENSION).eval().change)
    x = unit(torch.randn(RECORDS, DIMENSION)).numpy()
    space = Space(torch.zeros(DIMENSION), torch.ones(DIMENSION), 0.0)
    modifier = MassModifier(network, space, bench_key(0))
    tensor = torch.from_numpy(np.array(x))
    layers = nn.Sequential(*network)

    @torch.inference_mode()
    def forward() -> None:
        layers(tensor)

    def transform() -> None:
        modifier.transform(x)

    return transform, forward
