"""dlib's face recognition network in torch: an aligned face to its 128-d descriptor.

    (b, 3, 150, 150) -> stem 7x7/2, max pool 3/2 -> (b, 32, 35, 35) -> 14 residual blocks
    -> (b, 256, 2, 2) -> mean -> W -> (b, 128)

A block is y = relu(s(x) + A2 C2 relu(A1 C1 x)) with 3x3 convolutions C and channel-wise affine maps
A; s is the identity, or a 2x2 mean where the block halves the picture. Shapes that differ are
filled up with zeros at the end of each axis, as dlib adds them. A convolution with a stride has no
padding in dlib, the others keep the size.

The shape is that of dlib's example dnn_face_recognition_ex.cpp (`anet_type`). Frozen: every affine
map is folded into the convolution before it, A(Wx + b) = (g W) x + (g b + c).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from withhold.core.errors import UserError
from withhold.learn.nets.dlib_format import FloatArray, Layer, read_network

SIDE = 150
DIMENSION = 128
_STEM = 32
_SCALE = 256.0
# Width of each block from input to output, and whether it halves the picture.
_BLOCKS = [
    *[(32, False)] * 3,
    *[(64, True), (64, False), (64, False), (64, False)],
    *[(128, True), (128, False), (128, False)],
    *[(256, True), (256, False), (256, False)],
    (256, True),
]


def load_dlib_resnet(path: Path) -> DlibResnet:
    """The network with the weights of dlib_face_recognition_resnet_model_v1.dat, frozen."""
    network = DlibResnet()
    layers = _Layers(read_network(path), path)
    (mean,) = layers.take("input", (SIDE, SIDE))
    layers.copy(network.mean, mean[:, None, None])
    layers.fill(network.stem)
    layers.take("relu")
    layers.take("max_pool", (3, 3, 2, 2, 0, 0))
    for block in network.blocks:
        assert isinstance(block, _Block)
        layers.take("tag")
        layers.fill(block.first)
        layers.take("relu")
        layers.fill(block.second)
        if block.down:
            layers.take("tag")
            layers.take("tag")
            layers.take("avg_pool", (2, 2, 2, 2, 0, 0))
        layers.take("add_prev")
        layers.take("relu")
    layers.take("avg_pool", (0, 0, 1, 1, 0, 0))
    last = network.last
    (weight,) = layers.take("fc", (last.out_features, last.in_features))
    layers.copy(last.weight, weight.T)
    layers.end()
    return network


class DlibResnet(nn.Module):
    """Maps raw RGB values 0..255 (b, 3, 150, 150) to descriptors (b, 128); for inference only.

    Two faces are of one person, says dlib, where their descriptors are closer than 0.6. In memory
    the channels lie last, which takes a quarter less time.
    """

    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3, 1, 1))
        self.stem = nn.Conv2d(3, _STEM, 7, stride=2)
        widths = [_STEM, *(width for width, _ in _BLOCKS)]
        self.blocks = nn.Sequential(
            *(_Block(i, o, down) for i, (o, down) in zip(widths, _BLOCKS, strict=False))
        )
        self.last = nn.Linear(widths[-1], DIMENSION, bias=False)
        self.eval().requires_grad_(False)
        # torch's annotations do not know this form of `to`.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, pixels: Tensor) -> Tensor:
        """Descriptors, one a face."""
        x = (pixels.contiguous(memory_format=torch.channels_last) - self.mean) / _SCALE
        # The pool comes before the ReLU, where dlib has it after: the same, on a quarter of values.
        x = functional.max_pool2d(self.stem(x), 3, 2).relu_()
        out: Tensor = self.last(self.blocks(x).mean(dim=(2, 3)))
        return out


class _Block(nn.Module):
    def __init__(self, inputs: int, outputs: int, down: bool) -> None:
        super().__init__()
        stride, padding = (2, 0) if down else (1, 1)
        self.down = down
        self.first = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=padding)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.second(self.first(x).relu_())
        if not self.down:
            return y.add_(x).relu_()
        x = functional.avg_pool2d(x, 2)
        shape = [max(sizes) for sizes in zip(x.shape, y.shape, strict=True)]
        return (_filled_up(x, shape) + _filled_up(y, shape)).relu_()


def _filled_up(x: Tensor, shape: list[int]) -> Tensor:
    """x with zeros at the end of its channels, rows and columns, up to `shape`."""
    _, channels, rows, columns = (want - have for want, have in zip(shape, x.shape, strict=True))
    return functional.pad(x, (0, columns, 0, rows, 0, channels))


class _Layers:
    """The layers of a file, taken one by one as the network expects them."""

    def __init__(self, layers: list[Layer], path: Path) -> None:
        self._layers, self._path = layers[::-1], path

    def take(self, kind: str, settings: tuple[int, ...] = ()) -> tuple[FloatArray, ...]:
        """The arrays of the next layer, which must be of this kind and have these settings."""
        found = self._layers.pop() if self._layers else Layer("nothing")
        if (found.kind, found.settings) != (kind, settings):
            raise self._failure(f"it has {found.kind} {found.settings} for {kind} {settings}")
        return found.arrays

    def fill(self, convolution: nn.Conv2d) -> None:
        """Give a convolution its weights, the affine map behind it folded in."""
        assert not isinstance(convolution.padding, str)
        sizes = (*convolution.kernel_size, *convolution.stride, *convolution.padding)
        weight, bias = self.take("con", (convolution.out_channels, *sizes))
        scale, shift = self.take("affine")
        if not len(weight) == len(bias) == len(scale) == len(shift):
            raise self._failure("a layer has too many or too few weights")
        assert convolution.bias is not None
        self.copy(convolution.weight, weight * scale.astype(np.float64)[:, None, None, None])
        self.copy(convolution.bias, bias * scale.astype(np.float64) + shift)

    def copy(self, parameter: Tensor, values: npt.NDArray[np.floating]) -> None:
        if parameter.shape != values.shape:
            raise self._failure(f"a weight is {values.shape} for {tuple(parameter.shape)}")
        parameter.copy_(torch.tensor(values))

    def end(self) -> None:
        """Nothing may follow."""
        if self._layers:
            raise self._failure("it has more layers")

    def _failure(self, why: str) -> UserError:
        return UserError(f"{self._path} is not dlib's face recognition network: {why}")
