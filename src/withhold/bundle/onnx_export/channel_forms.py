"""Graphs of modifiers with finitely many codes: probabilities, and a draw by a given number.

x (n, d) and uniform (n,) -> code (n,), released (n, d) and probabilities (n, N). The code is the
inverse of the distribution function at `uniform`, summed in double precision as `transform` does.
A record that cannot be given a code gets code -1 and NaN, and so does one with an invalid input.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch

from withhold.bundle.onnx_export.onnx_form import Inputs, Nonces, OnnxForm, onnx_form
from withhold.bundle.onnx_export.onnx_graph import Graph
from withhold.bundle.onnx_export.onnx_layers import enter, finite_rows, only_where, sequence, unit
from withhold.bundle.onnx_export.reader_graphs import FOLD, softmax_of_reader
from withhold.methods.channel import Channel, IntArray
from withhold.methods.features.baselines.constant import ConstantModifier
from withhold.methods.features.baselines.random_substitute import RandomSubstituteModifier
from withhold.methods.features.codebook import CodebookModifier
from withhold.methods.features.codebook.reader import FoldedReader
from withhold.methods.features.exact import ExactModifier
from withhold.methods.features.pass_.modifier import PassModifier
from withhold.methods.modifier import FloatArray, Labels

UNIFORM, CLASS, CELL = "uniform", "class", "cell"
_RECORDS = "the model holds {:,} training records unchanged, as its codes; do not publish it"


class ChannelForm(OnnxForm[Any]):
    """A draw among codes; subclasses compute the probabilities."""

    draws: ClassVar[tuple[str, ...]] = (UNIFORM,)

    def graph(self, modifier: Any, graph: Graph) -> None:
        """Probabilities, the draw, and the code of the draw."""
        x = graph.input("x", np.float32, modifier.dimension)
        self._channel(modifier, graph, x)

    @abstractmethod
    def _channel(self, modifier: Any, graph: Graph, x: str) -> None:
        """Add what follows x."""

    def inputs(
        self, modifier: Any, records: FloatArray, labels: Labels, nonces: Nonces | None = None
    ) -> Inputs:
        """The features, and the uniform number of each record."""
        x = np.ascontiguousarray(records, np.float32)
        return {"x": x, UNIFORM: modifier.uniforms(x, labels)}


@onnx_form
class PassForm(ChannelForm):
    """softmax(cos(f(x), g_j) / tau)."""

    modifier_type = PassModifier

    def _channel(self, modifier: PassModifier, graph: Graph, x: str) -> None:
        f = unit(graph, sequence(graph, enter(graph, x, modifier.space), modifier.embed))
        table = graph.constant((modifier.embeddings / modifier.temperature).T)
        w = graph.node("Softmax", graph.node("MatMul", f, table), attributes={"axis": 1})
        draw(graph, x, w, modifier.codes)

    def notes(self, modifier: PassModifier) -> list[str]:
        """Its codes are records of people."""
        return [_RECORDS.format(len(modifier.codes))]


@onnx_form
class CodebookForm(ChannelForm):
    """softmax(reader(x, s) + potentials[s]), merged and mixed as the fit decided."""

    modifier_type = CodebookModifier
    draws = (UNIFORM, FOLD)

    def _channel(self, modifier: CodebookModifier, graph: Graph, x: str) -> None:
        book = modifier.book
        s = graph.input(CLASS, np.int64) if modifier.label_needs else None
        w = softmax_of_reader(graph, book.reader, x, s, book.potentials, s)
        if book.merge is None:
            draw(graph, x, _mixed(graph, w, modifier), book.codes, classes=(s,))
        elif book.mix > 0:
            w = _mixed(graph, _merged(graph, w, book.merge, len(book.codes)), modifier)
            draw(graph, x, w, book.codes, classes=(s,))
        else:
            draw(graph, x, w, book.codes, classes=(s,), merge=book.merge)

    def inputs(
        self,
        modifier: CodebookModifier,
        records: FloatArray,
        labels: Labels,
        nonces: Nonces | None = None,
    ) -> Inputs:
        """Also the joint class, and the fold of the record, where the graph asks for them."""
        found = super().inputs(modifier, records, labels, nonces)
        if modifier.label_needs:
            found[CLASS] = modifier.class_of(labels, len(found["x"]))
        if isinstance(modifier.book.reader, FoldedReader):
            folds = modifier.book.reader.folds(torch.from_numpy(np.array(found["x"])))
            found[FOLD] = folds.numpy()
        return found


@onnx_form
class ExactForm(ChannelForm):
    """keep V + rest (1 - sum keep V), V = softmax(reader(x, s) + potentials), by the cell."""

    modifier_type = ExactModifier

    def refusal(self, modifier: ExactModifier) -> str | None:
        """Rows of a table are values, not numbers; and a person's draw needs all its rows."""
        if modifier.units is not None:
            return "a person draws one code for all its rows (per=person); use withhold release"
        if modifier.rows is None:
            return None
        return (
            "it makes rows of a table, and an ONNX model computes numbers alone; use withhold"
            " release"
        )

    def _channel(self, modifier: ExactModifier, graph: Graph, x: str) -> None:
        s, cell = graph.input(CLASS, np.int64), graph.input(CELL, np.int64)
        plan = modifier.plan
        v = softmax_of_reader(graph, plan.reader, x, s, plan.potentials, cell)
        keep, rest = (
            graph.node("Gather", graph.constant(table), cell) for table in (plan.keep, plan.rest)
        )
        kept = graph.node("Mul", v, keep)
        again = graph.node("Sub", graph.constant(1.0), graph.row_sum(kept, keep=True))
        again = graph.node("Max", again, graph.constant(0.0))
        w = graph.node("Add", kept, graph.node("Mul", again, rest))
        draw(graph, x, w, plan.codes, classes=(s, cell))

    def inputs(
        self,
        modifier: ExactModifier,
        records: FloatArray,
        labels: Labels,
        nonces: Nonces | None = None,
    ) -> Inputs:
        """Also the suppressed class and the cell. Nonces tell equal rows apart."""
        x = np.ascontiguousarray(records, np.float32)
        s, cell = modifier.cells_of(labels, len(x))
        return {"x": x, CLASS: s, CELL: cell, UNIFORM: modifier.uniforms(x, labels, nonces=nonces)}

    def notes(self, modifier: ExactModifier) -> list[str]:
        """It is for given records."""
        return ["exact is balanced for the records of its fit; use the model with no others"]


class FreeForm(ChannelForm):
    """Codes whose probabilities are the same for every record."""

    def _channel(self, modifier: Channel, graph: Graph, x: str) -> None:
        n = len(modifier.codes)
        zeros = graph.node("MatMul", x, graph.constant(np.zeros((modifier.dimension, n), "f4")))
        share = np.full(n, 1 / n, np.float32)
        draw(graph, x, graph.node("Add", zeros, graph.constant(share)), modifier.codes)


@onnx_form
class ConstantForm(FreeForm):
    """One code."""

    modifier_type = ConstantModifier


@onnx_form
class RandomSubstituteForm(FreeForm):
    """All codes alike."""

    modifier_type = RandomSubstituteModifier

    def notes(self, modifier: RandomSubstituteModifier) -> list[str]:
        """Its codes are records of people."""
        return [_RECORDS.format(len(modifier.codes))]


def draw(
    graph: Graph,
    x: str,
    w: str,
    codes: FloatArray,
    *,
    classes: tuple[str | None, ...] = (),
    merge: IntArray | None = None,
) -> None:
    """The code at `uniform` of the distribution w (n, M), and the outputs."""
    u = graph.input(UNIFORM, np.float64)
    number = len(codes) if merge is None else len(merge)
    total = graph.node("CumSum", graph.cast(w, np.float64), graph.constant(np.array(1, np.int64)))
    last = graph.node("Gather", total, graph.whole(number - 1), attributes={"axis": 1})
    limit = graph.node("Mul", graph.node("Unsqueeze", u, graph.whole(1)), last)
    below = graph.row_sum(graph.cast(graph.node("Less", total, limit), np.int64))
    place = graph.node("Min", below, graph.constant(np.array(number - 1, np.int64)))
    if merge is not None:
        place = graph.node("Gather", graph.constant(merge), place)
        w = _merged(graph, w, merge, len(codes))
    right = graph.node("And", finite_rows(graph, x, w), _inside(graph, u, 0.0, 1.0))
    for one in classes:
        if one is not None:  # a negative place would count from the end
            not_negative = graph.node("GreaterOrEqual", one, graph.constant(np.array(0)))
            right = graph.node("And", right, not_negative)
    none = graph.constant(np.array(-1, np.int64))
    graph.output("code", graph.node("Where", right, place, none), np.int64)
    made = graph.node("Gather", graph.constant(codes), place)
    graph.output("released", only_where(graph, right, made), np.float32, codes.shape[1])
    graph.output("probabilities", w, np.float32, len(codes))


def _inside(graph: Graph, u: str, low: float, high: float) -> str:
    above = graph.node("Greater", u, graph.constant(np.array(low, np.float64)))
    return graph.node("And", above, graph.node("Less", u, graph.constant(np.array(high))))


def _merged(graph: Graph, w: str, merge: IntArray, codes: int) -> str:
    """Probabilities of codes (n, N) from those of the reader's outputs (n, M)."""
    return graph.node("MatMul", w, graph.constant(np.eye(codes, dtype=np.float32)[merge]))


def _mixed(graph: Graph, w: str, modifier: CodebookModifier) -> str:
    """(1 - mix) w + mix weights."""
    mix = np.float32(modifier.book.mix)
    if mix == 0:
        return w
    scaled = graph.node("Mul", w, graph.constant(np.array(1 - mix, np.float32)))
    return graph.node("Add", scaled, graph.constant(mix * modifier.book.weights))
