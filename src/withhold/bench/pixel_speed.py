"""`withhold bench pixel-speed`: a training step of `replace` against its bare convolutions.

Both sides do the convolutions of three steps (the reader of the generator learns in one of three)
in turns within one run: the bare side only these, on tensors of the same shapes; ours with batch
norms, losses, noise and optimisers.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from withhold.bench.result_table import BenchResult, Cells
from withhold.core.progress import Progress
from withhold.learn.nets.device import core_count, threads
from withhold.methods.images.replace.config import Precision, ReplaceConfig
from withhold.methods.images.replace.step import Batch, Player, filter_step, generator_step

TURNS = 5
CASES: tuple[dict[str, Any], ...] = ({"side": 32}, {"side": 64})
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16")


@dataclass(frozen=True)
class TimedStep:
    """Seconds of one step: the median of the turns, a third of three steps."""

    side: int
    width: int
    batch: int
    precision: str
    threads: int
    step: float
    bare: float

    @property
    def ratio(self) -> float:
        """The step over its convolutions."""
        return self.step / self.bare


@dataclass(frozen=True)
class PixelSpeed(BenchResult):
    """Every case."""

    timed: tuple[TimedStep, ...]
    title, command, file = "A training step of replace", "pixel-speed", "speed.json"
    legend = (
        "step: filter, generator and both readers, one batch. bare: the same convolutions alone,"
        " forward and backward. Aim of the ratio: at most 1.3."
    )

    def cells(self) -> Cells:
        """A line for each case."""
        header = ["side, width", "batch", "precision", "threads", "step, ms", "bare, ms", "ratio"]
        return header, [
            [
                f"{t.side}, {t.width}",
                str(t.batch),
                t.precision,
                str(t.threads),
                f"{1e3 * t.step:.0f}",
                f"{1e3 * t.bare:.0f}",
                f"{t.ratio:.2f}",
            ]
            for t in self.timed
        ]


def measure_pixel_speed(
    output: Path,
    *,
    progress: Progress,
    cases: tuple[dict[str, Any], ...] = CASES,
    turns: int = TURNS,
) -> PixelSpeed:
    """Time a step and its convolutions, with one thread and with all."""
    plans = [
        (ReplaceConfig(**case, precision=precision), count)
        for case in cases
        for precision in PRECISIONS
        for count in sorted({1, core_count()})
    ]
    timed = []
    with progress.stage("steps", len(plans)) as bar:
        for config, count in plans:
            with threads(count):
                step, bare = _timed(config, turns)
            size = (config.side, config.width, config.batch, config.precision, count)
            timed.append(TimedStep(*size, step, bare))
            bar.advance()
    return PixelSpeed(tuple(timed)).write(output)


def _timed(config: ReplaceConfig, turns: int) -> tuple[float, float]:
    game = Game(config)
    with game.recorded() as convolutions:
        game.step(update_reader=True)
    bare = BareStep(convolutions, config.precision)
    ours: list[float] = []
    theirs: list[float] = []
    for turn in range(turns + 1):
        for seconds, step in ((ours, game.step), (theirs, bare.step)):
            took = _seconds(step)
            if turn:  # the first one warms up
                seconds.append(took)
    return statistics.median(ours), statistics.median(theirs)


def _seconds(step: Callable[..., None]) -> float:
    """Of one step, as a third of three."""
    started = time.perf_counter()
    for number in range(3):
        step(update_reader=number == 0)
    return (time.perf_counter() - started) / 3


@dataclass(frozen=True, eq=False)
class Convolution:
    """One call of a convolution: its input, its layer, and whether its input is an image."""

    x: Tensor
    layer: nn.Conv2d
    first: bool


class Game:
    """Both players with a batch of random images."""

    def __init__(self, config: ReplaceConfig) -> None:
        device = torch.device("cpu")
        self.config = config
        self.players = {
            "filter": Player.filter(2, config).start(0, device),
            "generator": Player.generator(2, config).start(0, device),
        }
        self.optimisers = {n: p.optimisers(1e-4) for n, p in self.players.items()}
        draw = torch.Generator().manual_seed(0)
        shape = (config.batch, 3, config.side, config.side)
        x = torch.rand(shape, generator=draw).contiguous(memory_format=torch.channels_last)
        self.new = torch.randint(0, 2, (config.batch,), generator=draw)
        self.batch = Batch(x, self.new)
        self.noise = torch.randn(config.batch, config.noise, generator=draw)

    def step(self, *, update_reader: bool) -> None:
        """One step of Algorithm 1."""
        made, _ = filter_step(
            self.players["filter"], self.optimisers["filter"], self.batch, self.noise, self.config
        )
        generator_step(
            self.players["generator"],
            self.optimisers["generator"],
            self.batch,
            made,
            self.new,
            self.noise,
            self.config,
            update_reader=update_reader,
        )

    def recorded(self) -> Recorder:
        """Record the convolutions of a step."""
        return Recorder(self.players)


class Recorder:
    """The convolutions inside a `with` block, by network: `filter maker`, `generator reader`."""

    def __init__(self, players: dict[str, Player]) -> None:
        self.players = players
        self.found: dict[str, list[Convolution]] = {}
        self.hooks: list[Any] = []

    def __enter__(self) -> dict[str, list[Convolution]]:
        for name, part, network in _networks(self.players):
            calls = self.found.setdefault(f"{name} {part}", [])
            for layer in network.modules():
                if isinstance(layer, nn.Conv2d):
                    self.hooks.append(layer.register_forward_hook(_noting(calls)))
        return self.found

    def __exit__(self, *error: object) -> None:
        for hook in self.hooks:
            hook.remove()


class BareStep:
    """The convolutions of a step, on tensors of the same shapes and nothing else.

    The loss of a maker passes back through its reader, whose weights it does not change: that needs
    the gradient of each input. The loss of a reader needs the gradients of its weights too.
    """

    def __init__(self, calls: dict[str, list[Convolution]], precision: Precision) -> None:
        kind = torch.bfloat16 if precision == "bfloat16" else torch.float32
        self.calls = {n: [_bare(c, kind) for c in found] for n, found in calls.items()}
        # In a step with an update the reader reads made images first, then real ones.
        reads = self.calls["generator reader"]
        self.made, self.real = reads[: len(reads) // 2], reads[len(reads) // 2 :]

    def step(self, *, update_reader: bool) -> None:
        """Forward and backward."""
        for player in ("filter", "generator"):
            maker = self.calls[f"{player} maker"]
            learns = player == "filter" or update_reader
            made = self.calls["filter reader"] if player == "filter" else self.made
            real = self.real if player == "generator" and learns else []
            for one in (*maker, *made, *real):
                one.forward()
            for one in made:
                one.backward(data=True, weight=False)
            for one in maker:
                one.backward(data=not one.first, weight=True)
            for one in (*made, *real) if learns else ():
                one.backward(data=not one.first, weight=True)


@dataclass(frozen=True, eq=False)
class BareConvolution:
    """One convolution, without a graph."""

    x: Tensor
    weight: Tensor
    gradient: Tensor  # of its output
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    first: bool

    def forward(self) -> Tensor:
        """The output."""
        return F.conv2d(self.x, self.weight, None, self.stride, self.padding)

    def backward(self, *, data: bool, weight: bool) -> None:
        """The gradients that are asked for."""
        torch.ops.aten.convolution_backward(
            self.gradient, self.x, self.weight, None, self.stride, self.padding,
            (1, 1), False, (0, 0), 1, (data, weight, False),
        )  # fmt: skip


def _bare(call: Convolution, kind: torch.dtype) -> BareConvolution:
    layer = call.layer
    x = call.x.detach().to(kind).contiguous(memory_format=torch.channels_last)
    weight = layer.weight.detach().to(kind)
    stride, padding = tuple(layer.stride), tuple(int(p) for p in layer.padding)
    out = F.conv2d(x, weight, None, stride, padding)
    return BareConvolution(x, weight, torch.randn_like(out), stride, padding, call.first)


def _networks(players: dict[str, Player]) -> Iterator[tuple[str, str, nn.Module]]:
    for name, player in players.items():
        yield name, "maker", player.maker
        yield name, "reader", player.reader


def _noting(calls: list[Convolution]) -> Callable[..., None]:
    def note(layer: nn.Conv2d, inputs: tuple[Tensor, ...], _: Tensor) -> None:
        calls.append(Convolution(inputs[0], layer, inputs[0].shape[1] == 3))

    return note
