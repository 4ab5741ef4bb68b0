"""The networks of `latent-adapter`: the adapter, heads that learn with it, models against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from withhold.learn.losses.similarity import masked_cross_entropy
from withhold.learn.nets.attribute_net import AttributeNet
from withhold.learn.nets.perceptron import mlp, unit
from withhold.learn.training import initialise, tensor_digest
from withhold.methods.features.latent_adapter.config import LatentAdapterConfig
from withhold.records.attribute import Attribute


class AdapterNet(nn.Module):
    """A(z) = n(z + MLP(z)). z: (n, d), unit length. It starts as the identity."""

    def __init__(self, dimension: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.change = mlp([dimension, *(hidden or (dimension,)), dimension])

    def forward(self, z: Tensor) -> Tensor:
        """Adapted features, (n, d), unit length."""
        return unit(z + self.change(z))

    def start_as_identity(self) -> None:
        """Let the last layer give 0, which spares the paper's warm start by reconstruction."""
        last = self.change[-1]
        assert isinstance(last, nn.Linear)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)


@dataclass(frozen=True)
class AdapterTarget:
    """An attribute in a role: its labels (n,) or (n, k), -1 is missing, and its weight."""

    name: str
    codes: Tensor
    classes: int
    multilabel: bool
    weight: float

    @classmethod
    def of(cls, attribute: Attribute, weight: float, device: torch.device) -> AdapterTarget:
        """The labels on the device to train on."""
        codes = torch.from_numpy(attribute.codes).to(device)
        return cls(
            attribute.name, codes, len(attribute.classes), attribute.multilabel, float(weight)
        )

    def cross_entropy(self, p: Tensor, rows: Tensor) -> Tensor:
        """Of logits p for some records."""
        return masked_cross_entropy(p, self.codes[rows], multilabel=self.multilabel)

    def fingerprint(self) -> list[object]:
        """Everything that a loss depends on."""
        return [self.name, self.weight, self.multilabel, tensor_digest(self.codes)]


class AdapterPlayers(nn.Module):
    """All networks, drawn from the seed.

    A head is linear, of the features of one preserved attribute; `adversaries` are models of the
    suppressed ones, only where the privacy term needs labels.
    """

    def __init__(
        self,
        dimension: int,
        keep: Sequence[AdapterTarget],
        hide: Sequence[AdapterTarget],
        config: LatentAdapterConfig,
        *,
        seed: int,
    ) -> None:
        super().__init__()
        self.adapter = AdapterNet(dimension, config.hidden)
        self.heads = nn.ModuleList(nn.Linear(dimension, target.classes) for target in keep)
        self.adversaries = nn.ModuleList(
            AttributeNet(dimension, target.classes, config.adversary) for target in hide
        )
        initialise(self.adapter, seed, "adapter")
        initialise(self.heads, seed, "heads")
        initialise(self.adversaries, seed, "adversaries")
        self.adapter.start_as_identity()
