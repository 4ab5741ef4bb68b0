"""Graphs of modifiers that compute features from features: networks and linear maps."""

from __future__ import annotations

import numpy as np

from withhold.bundle.onnx_export.onnx_form import Inputs, Nonces, OnnxForm, onnx_form
from withhold.bundle.onnx_export.onnx_graph import Graph
from withhold.bundle.onnx_export.onnx_layers import (
    enter,
    finite_rows,
    leave,
    only_where,
    sequence,
    unit,
)
from withhold.core.keyed import keyed_normal
from withhold.methods.features.baselines.identity import IdentityModifier
from withhold.methods.features.baselines.leace import LeaceModifier
from withhold.methods.features.baselines.noise import NoiseModifier
from withhold.methods.features.latent_adapter.modifier import LatentAdapterModifier
from withhold.methods.features.mass.modifier import MassModifier
from withhold.methods.features.mass_it.modifier import MassItModifier
from withhold.methods.modifier import FeatureModifier, FloatArray, Labels

NOISE = "noise"  # (n, d), standard normal


class FeatureForm(OnnxForm[FeatureModifier]):
    """x (n, d) -> released (n, d), without draws."""

    def inputs(
        self,
        modifier: FeatureModifier,
        records: FloatArray,
        labels: Labels,
        nonces: Nonces | None = None,
    ) -> Inputs:
        """The features alone."""
        return {"x": np.ascontiguousarray(records, np.float32)}


class NoisyForm(FeatureForm):
    """The same with one normal number per feature, drawn by the record and the key."""

    draws = (NOISE,)

    def inputs(
        self,
        modifier: FeatureModifier,
        records: FloatArray,
        labels: Labels,
        nonces: Nonces | None = None,
    ) -> Inputs:
        """The features and their noise."""
        x = np.ascontiguousarray(records, np.float32)
        return {"x": x, NOISE: keyed_normal(modifier.key, x)}


@onnx_form
class MassForm(FeatureForm):
    """n(x + n(MLP(x))) between `enter` and `leave` of a space."""

    modifier_type = MassModifier

    def graph(self, modifier: FeatureModifier, graph: Graph) -> None:
        """One network."""
        assert isinstance(modifier, MassModifier)
        x = graph.input("x", np.float32, modifier.dimension)
        z = enter(graph, x, modifier.space)
        moved = graph.node("Add", z, unit(graph, sequence(graph, z, modifier.network)))
        _release(graph, leave(graph, unit(graph, moved), modifier.space), x, modifier.dimension)


@onnx_form
class LatentAdapterForm(FeatureForm):
    """n(x + MLP(x)) between `enter` and `leave` of a space."""

    modifier_type = LatentAdapterModifier

    def graph(self, modifier: FeatureModifier, graph: Graph) -> None:
        """One network."""
        assert isinstance(modifier, LatentAdapterModifier)
        x = graph.input("x", np.float32, modifier.dimension)
        z = enter(graph, x, modifier.space)
        moved = graph.node("Add", z, sequence(graph, z, modifier.network))
        _release(graph, leave(graph, unit(graph, moved), modifier.space), x, modifier.dimension)


@onnx_form
class MassItForm(NoisyForm):
    """n(MLP([x, e / sqrt(d)])) in a space."""

    modifier_type = MassItModifier

    def graph(self, modifier: FeatureModifier, graph: Graph) -> None:
        """One network of a record and its noise."""
        assert isinstance(modifier, MassItModifier)
        d = modifier.dimension
        x, noise = graph.input("x", np.float32, d), graph.input(NOISE, np.float32, d)
        scaled = graph.node("Div", noise, graph.constant(d**0.5))
        both = graph.node("Concat", enter(graph, x, modifier.space), scaled, attributes={"axis": 1})
        z = unit(graph, sequence(graph, both, modifier.network))
        _release(graph, leave(graph, z, modifier.space), x, d, noise)


@onnx_form
class LeaceForm(FeatureForm):
    """x - ((x - mean) right^T) left^T in double precision, as `transform` computes it."""

    modifier_type = LeaceModifier

    def graph(self, modifier: FeatureModifier, graph: Graph) -> None:
        """Two products."""
        assert isinstance(modifier, LeaceModifier)
        x = graph.input("x", np.float32, modifier.dimension)
        wide = graph.cast(x, np.float64)
        mean, right, left = (
            graph.constant(array.astype(np.float64))
            for array in (modifier.mean, modifier.right.T, modifier.left.T)
        )
        change = graph.node("MatMul", graph.node("Sub", wide, mean), right)
        made = graph.node("Sub", wide, graph.node("MatMul", change, left))
        _release(graph, graph.cast(made, np.float32), x, modifier.dimension)


@onnx_form
class NoiseForm(NoisyForm):
    """x + scale e."""

    modifier_type = NoiseModifier

    def graph(self, modifier: FeatureModifier, graph: Graph) -> None:
        """One sum."""
        assert isinstance(modifier, NoiseModifier)
        d = modifier.dimension
        x, noise = graph.input("x", np.float32, d), graph.input(NOISE, np.float32, d)
        added = graph.node("Mul", noise, graph.constant(modifier.scale))
        _release(graph, graph.node("Add", x, added), x, d, noise)


@onnx_form
class IdentityForm(FeatureForm):
    """x' = x."""

    modifier_type = IdentityModifier

    def graph(self, modifier: FeatureModifier, graph: Graph) -> None:
        """No node but the output."""
        x = graph.input("x", np.float32, modifier.dimension)
        _release(graph, x, x, modifier.dimension)

    def notes(self, modifier: FeatureModifier) -> list[str]:
        """It hides nothing."""
        return ["identity hides nothing: the model returns its input"]


def _release(graph: Graph, made: str, x: str, dimension: int, *draws: str) -> None:
    """The output: NaN for a record that is not finite."""
    right = finite_rows(graph, x, *draws)
    graph.output("released", only_where(graph, right, made), np.float32, dimension)
