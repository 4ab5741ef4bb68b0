"""Graphs of `gap` and `replace`: images, their noise and their new class to images.

image (n, 3, side, side) in [0, 1], noise_filter and noise_generator (n, k), new_class (n,) ->
released (n, 3, side, side) in [0, 1]. Resizing to `side` and back stays outside: the filters of
ONNX and of Pillow differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import nn

from withhold.bundle.onnx_export.onnx_form import Inputs, Nonces, OnnxForm, onnx_form
from withhold.bundle.onnx_export.onnx_graph import Graph
from withhold.bundle.onnx_export.onnx_layers import finite_rows, linear, only_where
from withhold.learn.nets.unet import UNet
from withhold.methods.images.replace.modifier import ReplaceModifier
from withhold.methods.modifier import Labels
from withhold.records.samples import Picture

IMAGE, NEW_CLASS = "image", "new_class"


@onnx_form
class ReplaceForm(OnnxForm[ReplaceModifier]):
    """The U-Nets one after the other; `gap` is the filter alone."""

    modifier_type = ReplaceModifier
    draws = ("noise_filter", "noise_generator", NEW_CLASS)

    def graph(self, modifier: ReplaceModifier, graph: Graph) -> None:
        """An image to an image."""
        side = modifier.sizes.side
        image = graph.input(IMAGE, np.float32, 3, side, side)
        made, noises = image, []
        right = None
        for name, network in modifier.networks.items():
            noise = graph.input(f"noise_{name}", np.float32, modifier.sizes.noise)
            noises.append(noise)
            label = None
            if name == "generator":
                label = graph.input(NEW_CLASS, np.int64)
                right = graph.node("GreaterOrEqual", label, graph.constant(np.array(0)))
            made = _unet(graph, network, made, noise, label)
        flat = graph.node("Reshape", image, graph.whole(0, 3 * side * side))
        finite = finite_rows(graph, flat, *noises)
        right = finite if right is None else graph.node("And", finite, right)
        graph.output("released", only_where(graph, right, made, 3), np.float32, 3, side, side)

    def inputs(
        self,
        modifier: ReplaceModifier,
        records: Sequence[Picture],
        labels: Labels,
        nonces: Nonces | None = None,
    ) -> Inputs:
        """The images at the size of the networks, and what the key draws for each."""
        drawn = [modifier.drawn(picture.pixels) for picture in records]
        side = modifier.sizes.side
        found: Inputs = {
            IMAGE: np.array([d.image for d in drawn], np.float32).reshape(-1, 3, side, side)
        }
        for name in modifier.networks:
            noise = np.array([d.noise[name] for d in drawn], np.float32)
            found[f"noise_{name}"] = noise.reshape(-1, modifier.sizes.noise)
        if modifier.sizes.classes is not None:
            found[NEW_CLASS] = np.array([d.new_class for d in drawn], np.int64)
        return found


def _unet(graph: Graph, network: Any, x: str, noise: str, label: str | None) -> str:
    """The forward pass of `UNet`."""
    assert isinstance(network, UNet)
    assert network.noise is not None  # gap and replace take noise
    side = network.bottom_side
    beside = []
    h = _block(graph, network.down[0], x)
    for block in network.down[1:]:
        beside.append(h)
        pooled = graph.node("MaxPool", h, attributes={"kernel_shape": [2, 2], "strides": [2, 2]})
        h = _block(graph, block, pooled)
    maps = [
        h,
        _as_maps(
            graph, linear(graph, noise, network.noise), network.noise.out_features // side**2, side
        ),
    ]
    if network.label is not None:
        assert label is not None
        embedding, layer = network.label
        assert isinstance(embedding, nn.Embedding)
        assert isinstance(layer, nn.Linear)
        found = graph.node("Gather", graph.constant(embedding.weight), label)
        maps.append(_as_maps(graph, linear(graph, found, layer), 1, side))
    h = graph.node("Concat", *maps, attributes={"axis": 1})
    for block in network.up:
        both = graph.node("Concat", _grown(graph, h), beside.pop(), attributes={"axis": 1})
        h = _block(graph, block, both)
    return graph.node("Sigmoid", _convolution(graph, network.image, h))


def _block(graph: Graph, block: Any, x: str) -> str:
    for layer in block:
        if isinstance(layer, nn.Conv2d):
            x = _convolution(graph, layer, x)
        elif isinstance(layer, nn.BatchNorm2d):
            assert layer.running_mean is not None
            assert layer.running_var is not None
            parts = (layer.weight, layer.bias, layer.running_mean, layer.running_var)
            constants = [graph.constant(part) for part in parts]
            x = graph.node("BatchNormalization", x, *constants, attributes={"epsilon": layer.eps})
        else:
            x = graph.node("Relu", x)
    return x


def _convolution(graph: Graph, layer: nn.Conv2d, x: str) -> str:
    pad = int(layer.padding[0])
    weights = [graph.constant(layer.weight)]
    if layer.bias is not None:
        weights.append(graph.constant(layer.bias))
    return graph.node("Conv", x, *weights, attributes={"pads": [pad] * 4})


def _as_maps(graph: Graph, flat: str, channels: int, side: int) -> str:
    """(n, c * side * side) -> (n, c, side, side)."""
    return graph.node("Reshape", flat, graph.whole(0, channels, side, side))


def _grown(graph: Graph, x: str) -> str:
    """Every pixel four times."""
    scales = graph.constant(np.array([1, 1, 2, 2], np.float32))
    attributes = {
        "mode": "nearest",
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    }
    return graph.node("Resize", x, "", scales, attributes=attributes)
