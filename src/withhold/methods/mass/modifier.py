"""The frozen result of `mass`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from torch import nn

from withhold.methods.modifier import FloatArray, Labels, Modifier, State
from withhold.nets.device import core_count, threads
from withhold.nets.mlp import aligned, aligned_width
from withhold.nets.modifier import modify
from withhold.nets.space import Space


class MassModifier(Modifier):
    """n(x + n(MLP(x))) with the batch norms folded in, between `enter` and `leave` of a space."""

    method = "mass"
    # Records go through in blocks of one fixed size (the last one padded), so that the kernels
    # chosen, and with them the last bits, do not depend on how a caller cuts the data.
    block = 512

    def __init__(self, change: nn.Sequential, space: Space) -> None:
        self.change, self.space = change, space
        self._aligned = aligned(change)

    @property
    def dimension(self) -> int:
        """Features per record."""
        return len(self.space.mean)

    def _transform(self, x: FloatArray, labels: Labels) -> FloatArray:
        out = np.empty_like(x)
        starts = range(0, len(x), self.block)
        # One thread a block, for the same reason: how many share a block decides the last bits
        # too. The cores work on different blocks instead.
        with threads(1):
            if len(starts) == 1:
                self._fill(out, x, 0)
            else:
                with ThreadPoolExecutor(min(core_count(), len(starts))) as pool:
                    list(pool.map(lambda start: self._fill(out, x, start), starts))
        return out

    @torch.inference_mode()
    def _fill(self, out: FloatArray, x: FloatArray, start: int) -> None:
        """One block of records, modified, into its place in `out`."""
        size = min(self.block, len(x) - start)
        # A copy: torch takes no array that cannot be written to, and Arrow hands out such.
        piece = np.zeros((self.block, x.shape[1]), np.float32)
        piece[:size] = x[start : start + size]
        z = self.space.enter(torch.from_numpy(piece))
        fill = aligned_width(self.dimension) - self.dimension
        z = modify(self._aligned, nn.functional.pad(z, (0, fill)))
        out[start : start + size] = self.space.leave(z[:, : self.dimension])[:size].numpy()

    def state(self) -> State:
        """Weights and biases of the linear layers, and the space."""
        arrays = {k: v.numpy() for k, v in self.change.state_dict().items()}
        return arrays | {
            "space.mean": self.space.mean.numpy(),
            "space.deviation": self.space.deviation.numpy(),
        }

    def settings(self) -> dict[str, Any]:
        """The radius of the space."""
        return {"radius": self.space.radius}

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any]) -> MassModifier:
        """The modifier that was saved."""
        tensors = {k: torch.from_numpy(np.array(v)) for k, v in state.items()}
        space = Space(
            tensors.pop("space.mean"), tensors.pop("space.deviation"), float(settings["radius"])
        )
        layers: list[nn.Module] = []
        for name in sorted((k for k in tensors if k.endswith(".weight")), key=_number):
            outputs, inputs = tensors[name].shape
            layers += [nn.Linear(inputs, outputs), nn.ReLU(inplace=True)]
        change = nn.Sequential(*layers[:-1]).eval().requires_grad_(False)
        change.load_state_dict(tensors)
        return cls(change, space)


def _number(name: str) -> int:
    return int(name.split(".")[0])
