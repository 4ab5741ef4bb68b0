"""Readers: they compute a score for every record and code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from withhold.core.errors import UserError
from withhold.core.keyed import keyed_words, other_key
from withhold.learn.nets.perceptron import aligned, aligned_width, linear
from withhold.methods.checked_state import Arrays
from withhold.methods.features.codebook.metric import Metric
from withhold.methods.modifier import State


class Reader(ABC):
    """Scores a_j(x, s): (n, d), (n,) -> (n, N), each record by itself."""

    kind: ClassVar[str]

    @abstractmethod
    def scores(self, x: Tensor, s: Tensor) -> Tensor:
        """Scores of records x (n, d); s (n,) is their class, 0 if unknown."""

    @abstractmethod
    def __len__(self) -> int:
        """How many codes."""

    @abstractmethod
    def keep(self, codes: Tensor) -> Reader:
        """The same with some codes only, (N,) booleans."""

    @abstractmethod
    def state(self) -> State:
        """Arrays that `from_arrays` needs."""

    @property
    @abstractmethod
    def sharpness(self) -> float:
        """The number that `from_arrays` needs besides the arrays."""


class MetricReader(Reader):
    """-|z - c_j|^2 / eps: how near a record, relative to its own class, is to a code."""

    kind = "metric"

    def __init__(self, metric: Metric, codes: Tensor, blur: float) -> None:
        self.metric, self.codes, self.blur = metric, codes, blur

    def scores(self, x: Tensor, s: Tensor) -> Tensor:
        """Scores of records x (n, d) of classes s (n,)."""
        # Widths are padded with zeros, as in `nets.perceptron.aligned`, and distances are expanded
        # into products: torch.cdist and products of odd widths round differently for different
        # numbers of records.
        d, p = self.metric.directions.shape
        fill, wide = aligned_width(d) - d, aligned_width(p) - p
        inside = nn.functional.pad(x - self.metric.means[s], (0, fill))
        z = inside @ nn.functional.pad(self.metric.directions, (0, wide, 0, fill))
        z = z / self.metric.scale[s, None]
        more = aligned_width(len(self.codes)) - len(self.codes)
        codes = nn.functional.pad(self.codes, (0, wide, 0, more))
        square = z.square().sum(dim=1, keepdim=True) + codes.square().sum(dim=1)
        return ((2 * z @ codes.T - square) / self.blur)[:, : len(self.codes)]

    def __len__(self) -> int:
        return len(self.codes)

    def keep(self, codes: Tensor) -> MetricReader:
        """The same with some codes only."""
        return MetricReader(self.metric, self.codes[codes], self.blur)

    def state(self) -> State:
        """Means, directions and scales of the metric, and the codes in it."""
        m = self.metric
        tensors = {
            "means": m.means, "directions": m.directions, "scale": m.scale, "places": self.codes
        }  # fmt: skip
        return {k: v.contiguous().numpy() for k, v in tensors.items()}

    @property
    def sharpness(self) -> float:
        """1 / eps."""
        return 1 / self.blur

    @classmethod
    def from_arrays(cls, arrays: Arrays, sharpness: float) -> MetricReader:
        """The reader that was saved. The modifier has fixed the sizes N, d and, with labels, K."""
        means, directions, scale, places = (
            torch.from_numpy(arrays.take(f"reader.{name}", *shape))
            for name, shape in (
                ("means", ("K", "d")),
                ("directions", ("d", "p")),
                ("scale", ("K",)),
                ("places", ("N", "p")),
            )
        )
        if not bool((scale > 0).all()):
            raise UserError(
                "array 'reader.scale' of the modifier is not positive; restore the bundle, or fit"
                " again"
            )
        return cls(Metric(means, directions, scale), places, 1 / sharpness)


class NetworkReader(Reader):
    """log q(j | x) / eps of a network: linear layers, ReLU between all but the first two.

    The first layer is the fixed one that standardises and projects (see
    `code_network.fixed_projection`).
    """

    kind = "network"

    def __init__(self, layers: list[nn.Linear], softness: float) -> None:
        self.layers, self.softness = layers, softness
        self._wide = aligned(_sequence(layers))

    def scores(self, x: Tensor, s: Tensor) -> Tensor:
        """Scores of records x (n, d); their class is not used."""
        fill = aligned_width(x.shape[1]) - x.shape[1]
        out = self._wide(nn.functional.pad(x, (0, fill)))[:, : self.layers[-1].out_features]
        return torch.log_softmax(out, dim=1) / self.softness

    def __len__(self) -> int:
        return self.layers[-1].out_features

    def keep(self, codes: Tensor) -> NetworkReader:
        """The same with some codes only."""
        *layers, last = self.layers
        return NetworkReader([*layers, linear(last.weight[codes], last.bias[codes])], self.softness)

    def state(self) -> State:
        """Weights and biases, layer by layer."""
        return {
            f"{i}.{name}": tensor.contiguous().numpy()
            for i, layer in enumerate(self.layers)
            for name, tensor in layer.state_dict().items()
        }

    @property
    def sharpness(self) -> float:
        """1 / eps."""
        return 1 / self.softness

    def sharpened(self, power: float) -> NetworkReader:
        """q(j | x) to a power."""
        return NetworkReader(self.layers, self.softness / power)

    @classmethod
    def from_arrays(
        cls, arrays: Arrays, sharpness: float, *, prefix: str = "reader"
    ) -> NetworkReader:
        """The reader that was saved. The modifier has fixed the sizes N and d."""
        layers: list[nn.Linear] = []
        width = arrays.size("d")
        while not layers or arrays.has(f"{prefix}.{len(layers)}.weight"):
            name = f"{prefix}.{len(layers)}"
            weight = torch.from_numpy(arrays.take(f"{name}.weight", name, width))
            layers.append(linear(weight, torch.from_numpy(arrays.take(f"{name}.bias", name))))
            width = len(weight)
        if width != arrays.size("N"):
            raise UserError(
                f"the reader of the modifier scores {width:,} codes, but there are"
                f" {arrays.size('N'):,}; restore the bundle, or fit again"
            )
        return cls(layers, 1 / sharpness)


class FoldedReader(Reader):
    """Two networks; a keyed hash of the record decides which of them reads it.

    Each was trained on the records that the other one reads, so no record is read by a network
    that learned from it. The release of fitted records is then no better balanced than that of
    later ones, and the counts of a code do not reveal which class it still lacks.
    """

    kind = "folded"

    def __init__(self, one: NetworkReader, two: NetworkReader, key: bytes) -> None:
        self.one, self.two, self.key = one, two, key

    def scores(self, x: Tensor, s: Tensor) -> Tensor:
        """Scores of records x (n, d); their class is not used."""
        second = self.folds(x)[:, None] == 1
        return torch.where(second, self.two.scores(x, s), self.one.scores(x, s))

    def folds(self, x: Tensor) -> Tensor:
        """Which network reads each record of x (n, d): 0 or 1, (n,)."""
        return fold_of(x, self.key)

    def __len__(self) -> int:
        return len(self.one)

    def keep(self, codes: Tensor) -> FoldedReader:
        """The same with some codes only."""
        return FoldedReader(self.one.keep(codes), self.two.keep(codes), self.key)

    def sharpened(self, power: float) -> FoldedReader:
        """q(j | x) to a power."""
        return FoldedReader(self.one.sharpened(power), self.two.sharpened(power), self.key)

    def state(self) -> State:
        """Weights and biases of both networks."""
        both = {"one": self.one, "two": self.two}
        return {f"{name}.{k}": v for name, one in both.items() for k, v in one.state().items()}

    @property
    def sharpness(self) -> float:
        """1 / eps."""
        return self.one.sharpness

    @classmethod
    def from_arrays(cls, arrays: Arrays, sharpness: float) -> FoldedReader:
        """The reader that was saved; the modifier gives it its key."""
        one, two = (
            NetworkReader.from_arrays(arrays, sharpness, prefix=f"reader.{name}")
            for name in ("one", "two")
        )
        return cls(one, two, b"")


def fold_of(x: Tensor, key: bytes) -> Tensor:
    """0 or 1 for each record of x (n, d), by a keyed hash: (n,)."""
    words = keyed_words(other_key(key, "fold"), x.numpy(), 1)
    return torch.from_numpy((words[:, 0] & 1).astype(np.int64))


def _sequence(layers: list[nn.Linear]) -> nn.Sequential:
    out: list[nn.Module] = [layers[0]]
    for layer in layers[1:]:
        out += [layer, nn.ReLU(inplace=True)]
    return nn.Sequential(*out[:-1])


READERS: dict[str, Any] = {kind.kind: kind for kind in (MetricReader, NetworkReader, FoldedReader)}
