"""`withhold bench onnx-speed`: records a second of the exported models and of torch, in one run.

Both sides get the same draws, so the keyed hash is in neither. The networks have random weights,
which cost as much as trained ones. The two sides take turns, and medians give the ratio.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from withhold.bench.fit_row import bench_key
from withhold.bench.result_table import BenchResult, Cells
from withhold.bundle.onnx_export.onnx_form import Inputs, form_of
from withhold.bundle.onnx_export.onnx_graph import Graph
from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.learn.nets.device import core_count, threads
from withhold.learn.nets.modifier_net import ModifierNet
from withhold.learn.nets.perceptron import folded, mlp, unit
from withhold.learn.nets.space import Space
from withhold.learn.training import initialise
from withhold.methods import Modifier
from withhold.methods.channel import Channel, pick
from withhold.methods.features.codebook.modifier import Codebook, CodebookModifier
from withhold.methods.features.codebook.reader import NetworkReader
from withhold.methods.features.mass import MassModifier
from withhold.methods.features.pass_.modifier import PassModifier
from withhold.methods.images.replace.modifier import GapModifier, ReplaceSettings
from withhold.records.samples import Picture


@dataclass(frozen=True)
class OnnxSizes:
    """How large everything is; tests make it small."""

    dimension: int = 1024
    records: int = 8192
    codes: int = 256
    hidden: tuple[int, ...] = (512, 256)
    images: int = 64
    side: int = 32
    width: int = 16
    turns: int = 7


@dataclass(frozen=True)
class OnnxTimed:
    """Records a second of one modifier, and the size of its model."""

    name: str
    threads: int
    onnx: float
    torch: float
    mebibytes: float
    difference: float


@dataclass(frozen=True)
class OnnxSpeed(BenchResult):
    """A line for each modifier."""

    timed: tuple[OnnxTimed, ...]
    title, command, file = "ONNX models and torch", "onnx-speed", "onnx-speed.json"

    def cells(self) -> Cells:
        """Throughput, and the largest difference of the outputs."""
        header = ["modifier", "threads", "onnxruntime", "torch", "ratio", "MiB", "difference"]
        return header, [
            [t.name, str(t.threads), f"{t.onnx:,.0f}", f"{t.torch:,.0f}",
             f"{t.onnx / t.torch:.2f}", f"{t.mebibytes:.1f}", f"{t.difference:.0e}"]
            for t in self.timed
        ]  # fmt: skip

    @property
    def legend(self) -> str:
        """What the columns show."""
        return (
            "Records a second; ratio: onnxruntime over torch, in one run, on all cores. torch"
            " computes as transform does: features in fixed blocks, images one at a time. Draws are"
            " given to both. difference: the largest between the outputs (aim: at most 1e-5; for"
            " codes that of their probabilities)."
        )


def measure_onnx_speed(
    output: Path, *, progress: Progress, sizes: OnnxSizes | None = None
) -> OnnxSpeed:
    """Measure, write onnx-speed.json and table.md to `output`, and return the figures."""
    sizes = sizes or OnnxSizes()
    cases = {
        "mass": (_mass(sizes), sizes.records),
        "pass": (_pass(sizes), sizes.records),
        "codebook": (_codebook(sizes), sizes.records),
        "gap": (_gap(sizes), sizes.images),
    }
    timed = []
    # `transform` uses all cores, so onnxruntime gets as many.
    with progress.stage("onnxruntime and torch", len(cases)) as bar:
        for name, (modifier, records) in cases.items():
            timed.append(_timed(name, modifier, records, core_count(), sizes))
            bar.advance()
    return OnnxSpeed(tuple(timed)).write(output)


def _timed(name: str, modifier: Modifier, records: int, count: int, sizes: OnnxSizes) -> OnnxTimed:
    graph = Graph()
    form_of(modifier).graph(modifier, graph)
    model = graph.model({})
    inputs = _inputs(modifier, records, sizes)
    session = _session(model, count)
    wanted = "probabilities" if isinstance(modifier, Channel) else "released"
    ours, difference = _torch_side(modifier, inputs)
    apart = float(np.abs(session.run([wanted], inputs)[0] - difference()).max())
    exported: Callable[[], Any] = partial(session.run, ["released"], inputs)
    times: tuple[list[float], list[float]] = ([], [])
    with threads(count):
        for turn in range(sizes.turns + 2):
            for work, kept in zip((exported, ours), times, strict=True):
                started = time.perf_counter()
                work()
                if turn >= 2:  # the first ones warm caches and allocators
                    kept.append(time.perf_counter() - started)
    one, two = (records / statistics.median(kept) for kept in times)
    return OnnxTimed(name, count, one, two, len(model) / 2**20, apart)


def _session(model: bytes, count: int) -> Any:
    try:
        runtime: Any = import_module("onnxruntime")
    except ImportError as error:
        raise UserError(
            "the recipe needs the package onnxruntime: pip install 'withhold[onnx]'"
        ) from error
    options = runtime.SessionOptions()
    options.intra_op_num_threads = count
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _inputs(modifier: Modifier, records: int, sizes: OnnxSizes) -> Inputs:
    rng = np.random.default_rng(0)
    if isinstance(modifier, GapModifier):
        shape = (records, sizes.side, sizes.side, 3)
        pictures = [Picture(p) for p in rng.integers(0, 256, shape).astype(np.uint8)]
        return form_of(modifier).inputs(modifier, pictures, {})
    x = unit(torch.from_numpy(rng.standard_normal((records, sizes.dimension), np.float32)))
    return form_of(modifier).inputs(modifier, x.numpy(), {})


def _torch_side(
    modifier: Any, inputs: Inputs
) -> tuple[Callable[[], Any], Callable[[], npt.NDArray[Any]]]:
    """What `transform` computes with these draws, and the numbers to compare."""
    if isinstance(modifier, Channel):

        def drawn() -> npt.NDArray[Any]:
            w = modifier.probabilities(inputs["x"])
            return modifier.codes[pick(w, inputs["uniform"])]

        return drawn, lambda: modifier.probabilities(inputs["x"])
    if isinstance(modifier, GapModifier):
        images = torch.from_numpy(inputs["image"])
        noise = torch.from_numpy(inputs["noise_filter"])

        @torch.inference_mode()
        def changed() -> npt.NDArray[Any]:
            # One image at a time, as `transform` does.
            network = modifier.networks["filter"]
            made = [network(images[i : i + 1], noise[i : i + 1]) for i in range(len(images))]
            return torch.cat(made).numpy()

        return changed, changed

    def modified() -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = modifier.transform(inputs["x"])
        return found

    return modified, modified


def _mass(sizes: OnnxSizes) -> MassModifier:
    network = ModifierNet(sizes.dimension).eval()
    initialise(network, 0, "onnx-speed")
    return MassModifier(folded(network.change), _sphere(sizes), bench_key(0))


def _pass(sizes: OnnxSizes) -> PassModifier:
    network = mlp([sizes.dimension, *sizes.hidden, 128]).eval()
    initialise(network, 0, "onnx-speed")
    embeddings = unit(torch.randn(sizes.codes, 128, generator=torch.Generator().manual_seed(0)))
    codes = np.zeros((sizes.codes, sizes.dimension), np.float32)
    return PassModifier(
        codes, bench_key(0), folded(network), embeddings, _sphere(sizes), temperature=0.1
    )


def _codebook(sizes: OnnxSizes) -> CodebookModifier:
    layers = list(mlp([sizes.dimension, 256, *sizes.hidden, sizes.codes]).eval())
    linear = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]
    initialise(torch.nn.Sequential(*linear), 0, "onnx-speed")
    for layer in linear:
        layer.requires_grad_(False)
    codes = np.zeros((sizes.codes, sizes.dimension), np.float32)
    weights = np.full(sizes.codes, 1 / sizes.codes, np.float32)
    spread = np.zeros((1, sizes.dimension), np.float32)
    book = Codebook(NetworkReader(linear, 1.0), codes, weights, None, 0.0, spread)
    return CodebookModifier(book, bench_key(0), (), ())


def _gap(sizes: OnnxSizes) -> GapModifier:
    settings = ReplaceSettings(side=sizes.side, width=sizes.width, depth=2, noise=64)
    networks = settings.networks()
    initialise(networks, 0, "onnx-speed")
    return GapModifier(networks, bench_key(0), settings)


def _sphere(sizes: OnnxSizes) -> Space:
    return Space(torch.zeros(sizes.dimension), torch.ones(sizes.dimension), 0.0)
