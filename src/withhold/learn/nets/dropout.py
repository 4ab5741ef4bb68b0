"""Dropout whose draws cost little on a CPU.

torch draws a 32-bit number for every activation, which took longer than the matrix products of the
small networks here. A random byte is enough; the dropped share is a multiple of 1/256.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn


class ByteDropout(nn.Module):
    """x_i / (1 - p) with probability 1 - p, else 0, while training; x_i otherwise."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.level = round(256 * share)  # bytes below it are dropped
        self._random = np.random.default_rng(0)

    def reseed(self, seed: int) -> None:
        """Draw from here on as this seed says."""
        self._random = np.random.default_rng(seed)

    def forward(self, x: Tensor) -> Tensor:
        """Drop while training."""
        if not self.training or self.level == 0:
            return x
        drawn = np.frombuffer(bytearray(self._random.bytes(x.numel())), np.uint8)
        kept = torch.from_numpy(drawn).view(x.shape) >= self.level
        return x * (kept * (256 / (256 - self.level))).to(x.device)
