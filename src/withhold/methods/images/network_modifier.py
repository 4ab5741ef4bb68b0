"""A modifier that applies one network to an image of any size."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from withhold.methods.checked_state import Arrays
from withhold.methods.media_modifier import MediaModifier
from withhold.methods.modifier import State
from withhold.records.samples import Picture, RecordKind, Sample


class NetworkModifier(MediaModifier):
    """x' = f(x): f takes pixels (1, 3, h, w) in [0, 1] and returns as many.

    Images are processed one at a time: in a batch, the last bits of a result would depend on the
    other images.
    """

    kinds: ClassVar[tuple[RecordKind, ...]] = ("image",)

    def __init__(self, network: nn.Module, key: bytes) -> None:
        self.network, self.key = network.eval().requires_grad_(False), key

    @classmethod
    @abstractmethod
    def build(cls, settings: dict[str, Any]) -> nn.Module:
        """The network that `settings` describe, before its weights are set."""

    def _apply(self, sample: Sample) -> Sample:
        assert isinstance(sample, Picture)  # the only kind that `apply` accepts
        with torch.inference_mode():
            # A copy: torch needs a writable array.
            x = torch.from_numpy(np.array(sample.pixels)).permute(2, 0, 1)[None] / 255
            made = (255 * self.network(x)[0]).round().clamp(0, 255).to(torch.uint8)
            return Picture(made.permute(1, 2, 0).contiguous().numpy())

    def state(self) -> State:
        """The weights, by name."""
        return {name: tensor.cpu().numpy() for name, tensor in _weights(self.network).items()}

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> Self:
        """The modifier that was saved."""
        network, arrays = cls.build(settings), Arrays(state)
        weights = {
            name: torch.from_numpy(arrays.take(name, *tensor.shape))
            for name, tensor in _weights(network).items()
        }
        arrays.close()
        network.load_state_dict(network.state_dict() | weights)
        return cls.made(network, settings, key)

    @classmethod
    def made(cls, network: nn.Module, settings: dict[str, Any], key: bytes) -> Self:
        """The modifier of a network that is built and filled."""
        del settings
        return cls(network, key)


def _weights(network: nn.Module) -> dict[str, Tensor]:
    """All that decides what the network does; batch norms also count their batches."""
    return {n: t for n, t in network.state_dict().items() if t.is_floating_point()}
