"""The channel P(j|x) while it trains: an embedding of records, and one of each candidate."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from withhold.learn.nets.perceptron import mlp, unit
from withhold.learn.training import initialise


class SubstituteNet(nn.Module):
    """log P(j|x) = log softmax(cos(f(x), g_j) / tau); f is d-512-256-128 with BN and ReLU.

    The g_j: (N, h) are free parameters that start as the embeddings of the candidates. At first, a
    record is replaced by one with a near embedding.
    """

    def __init__(
        self, candidates: Tensor, hidden: Sequence[int], embedding: int, temperature: float,
        *, seed: int,
    ) -> None:  # fmt: skip
        super().__init__()
        self.temperature = temperature
        self.embed = mlp([candidates.shape[1], *hidden, embedding])
        initialise(self.embed, seed, "substitutes")
        self.to(candidates.device)
        with torch.no_grad():
            self.table = nn.Parameter(unit(self.embed(candidates)))

    def forward(self, x: Tensor) -> Tensor:
        """log P(j|x): (n, d) -> (n, N)."""
        return F.log_softmax(unit(self.embed(x)) @ unit(self.table).T / self.temperature, dim=1)
