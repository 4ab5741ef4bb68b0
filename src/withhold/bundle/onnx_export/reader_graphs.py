"""Graphs of the readers of `codebook` and `exact`: a score for every record and code."""

from __future__ import annotations

import numpy as np

from withhold.bundle.onnx_export.onnx_graph import Graph
from withhold.bundle.onnx_export.onnx_layers import linear
from withhold.methods.features.codebook.reader import (
    FoldedReader,
    MetricReader,
    NetworkReader,
    Reader,
)
from withhold.methods.modifier import FloatArray

FOLD = "fold"  # (n,), 0 or 1: which of two networks reads the record


def softmax_of_reader(
    graph: Graph,
    reader: Reader,
    x: str,
    s: str | None,
    potentials: FloatArray | None,
    row: str | None,
) -> str:
    """softmax(reader(x, s) + potentials[row]): (n, M). `s` is None if no label is used."""
    scores = _scores(graph, reader, x, s)
    if potentials is not None:
        table = graph.constant(potentials if row is not None else potentials[0])
        own = table if row is None else graph.node("Gather", table, row)
        scores = graph.node("Add", scores, own)
    return graph.node("Softmax", scores, attributes={"axis": 1})


def _scores(graph: Graph, reader: Reader, x: str, s: str | None) -> str:
    if isinstance(reader, FoldedReader):
        fold = graph.input(FOLD, np.int64)
        second = graph.node("Equal", fold, graph.constant(np.array(1, np.int64)))
        second = graph.node("Unsqueeze", second, graph.whole(1))
        two, one = (_network(graph, part, x) for part in (reader.two, reader.one))
        return graph.node("Where", second, two, one)
    if isinstance(reader, NetworkReader):
        return _network(graph, reader, x)
    assert isinstance(reader, MetricReader)
    return _metric(graph, reader, x, s)


def _network(graph: Graph, reader: NetworkReader, x: str) -> str:
    """log softmax / softness; ReLU between all layers but the first two."""
    for place, layer in enumerate(reader.layers):
        x = linear(graph, graph.node("Relu", x) if place > 1 else x, layer)
    scores = graph.node("LogSoftmax", x, attributes={"axis": 1})
    return graph.node("Div", scores, graph.constant(reader.softness))


def _metric(graph: Graph, reader: MetricReader, x: str, s: str | None) -> str:
    """-|z - c_j|^2 / blur with z = (x - mean_s) directions / scale_s."""
    metric = reader.metric
    if s is None:
        mean, scale = graph.constant(metric.means[:1]), graph.constant(metric.scale[:1, None])
    else:
        mean = graph.node("Gather", graph.constant(metric.means), s)
        scale = graph.node("Gather", graph.constant(metric.scale[:, None]), s)
    inside = graph.node("Sub", x, mean)
    z = graph.node("Div", graph.node("MatMul", inside, graph.constant(metric.directions)), scale)
    square = graph.node(
        "Add",
        graph.row_sum(graph.node("Mul", z, z), keep=True),
        graph.constant(reader.codes.square().sum(dim=1)),
    )
    twice = graph.node("MatMul", z, graph.constant(2 * reader.codes.T))
    return graph.node("Div", graph.node("Sub", twice, square), graph.constant(reader.blur))
