"""The frozen result of `pass`."""

from __future__ import annotations

from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from withhold.learn.nets.perceptron import aligned, aligned_width, linear, unit
from withhold.learn.nets.space import Space
from withhold.methods.blocks import in_fixed_blocks
from withhold.methods.channel import Channel
from withhold.methods.checked_state import Arrays, checked_modifier
from withhold.methods.modifier import FloatArray, Labels, State
from withhold.methods.saved import SpaceSettings, network_of, network_state, space_of, space_state


class PassSettings(SpaceSettings):
    """Settings besides the arrays."""

    temperature: float = Field(gt=0)


class PassModifier(Channel):
    """x' = c_J, P(J = j | x) = softmax(cos(f(x), g_j) / tau), J drawn by the record and a key.

    codes: (N, d), unchanged training records; embeddings g: (N, h), unit length.
    """

    method = "pass"

    def __init__(
        self,
        codes: FloatArray,
        key: bytes,
        embed: nn.Sequential,
        embeddings: Tensor,
        space: Space,
        *,
        temperature: float,
    ) -> None:
        self.codes, self.key, self.space = codes, key, space
        self.embed, self.embeddings, self.temperature = embed, embeddings, temperature
        self._aligned = aligned(embed)
        self._choose = aligned(_scores(embeddings, temperature))
        # Padding columns are not candidates and are never drawn.
        width = aligned_width(len(codes))
        self._absent = torch.arange(width) >= len(codes)

    def _probabilities(self, x: FloatArray, labels: Labels) -> FloatArray:
        return in_fixed_blocks(self._softmax, x, outputs=len(self.codes))

    def _softmax(self, x: Tensor) -> Tensor:
        d = self.dimension
        z = nn.functional.pad(self.space.enter(x), (0, aligned_width(d) - d))
        scores: Tensor = self._choose(unit(self._aligned(z)))
        p = scores.masked_fill(self._absent, -torch.inf).softmax(dim=1)
        return p[:, : len(self.codes)]

    def state(self) -> State:
        """Candidates, their embeddings, the network f and the space."""
        return network_state(self.embed) | space_state(self.space) | {
            "candidates": self.codes,
            "embeddings": self.embeddings.numpy(),
        }  # fmt: skip

    def settings(self) -> dict[str, Any]:
        """The radius of the space, and tau."""
        return {"radius": self.space.radius, "temperature": self.temperature}

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> PassModifier:
        """The modifier that was saved."""
        arrays, checked = Arrays(state), checked_modifier(settings, PassSettings)
        space = space_of(arrays, checked)
        codes = arrays.take("candidates", "N", "d")
        embeddings = torch.from_numpy(arrays.take("embeddings", "N", "h"))
        network = network_of(arrays, arrays.size("d"), arrays.size("h"))
        arrays.close()
        return cls(codes, key, network, embeddings, space, temperature=checked.temperature)


def _scores(embeddings: Tensor, temperature: float) -> nn.Sequential:
    """f(x) of unit length to cos(f(x), g_j) / tau, as a layer like any other."""
    return nn.Sequential(linear(embeddings / temperature, torch.zeros(len(embeddings))))
