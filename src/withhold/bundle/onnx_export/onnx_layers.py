"""The layers and small functions that the graphs are made of, as torch computes them."""

from __future__ import annotations

from torch import nn

from withhold.bundle.onnx_export.onnx_graph import Graph, single
from withhold.learn.nets.space import Space

_TINY = 1e-12  # as in torch.nn.functional.normalize


def linear(graph: Graph, x: str, layer: nn.Linear) -> str:
    """x W^T + b: (n, inputs) -> (n, outputs)."""
    weight, bias = graph.constant(layer.weight), graph.constant(layer.bias)
    return graph.node("Gemm", x, weight, bias, attributes={"transB": 1})


def sequence(graph: Graph, x: str, network: nn.Sequential) -> str:
    """A folded network: linear layers and ReLU."""
    for layer in network:
        x = linear(graph, x, layer) if isinstance(layer, nn.Linear) else graph.node("Relu", x)
    return x


def unit(graph: Graph, x: str) -> str:
    """n(x) = x / max(|x|, 1e-12), row by row."""
    square = graph.row_sum(graph.node("Mul", x, x), keep=True)
    length = graph.node("Max", graph.node("Sqrt", square), graph.constant(_TINY))
    return graph.node("Div", x, length)


def enter(graph: Graph, x: str, space: Space) -> str:
    """Features (n, d) to the sphere."""
    if space.is_sphere:
        return unit(graph, x)
    scale = space.deviation.where(space.deviation > 0, float("inf"))
    return unit(
        graph,
        graph.node("Div", graph.node("Sub", x, graph.constant(space.mean)), graph.constant(scale)),
    )


def leave(graph: Graph, z: str, space: Space) -> str:
    """From the sphere back to the user's space."""
    if space.is_sphere:
        return z
    scaled = graph.node("Mul", z, graph.constant(space.deviation * space.radius))
    return graph.node("Add", scaled, graph.constant(space.mean))


def finite_rows(graph: Graph, *values: str) -> str:
    """Whether each row of all values (n, k) has only finite numbers, (n,) booleans.

    v - v is 0 if v is finite and NaN otherwise.
    """
    sums = [graph.row_sum(graph.node("Sub", v, v)) for v in values]
    total = sums[0]
    for one in sums[1:]:
        total = graph.node("Add", total, one)
    return graph.node("Equal", total, graph.constant(0.0))


def only_where(graph: Graph, right: str, released: str, axes: int = 1) -> str:
    """The released rows where `right` (n,) holds, and NaN elsewhere: never a plausible number."""
    beside = graph.node("Unsqueeze", right, graph.whole(*range(1, axes + 1)))
    return graph.node("Where", beside, released, graph.constant(single(float("nan"))))
