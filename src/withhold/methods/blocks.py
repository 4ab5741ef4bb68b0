"""Run a network on blocks of one size, so that results do not depend on the batches."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from withhold.learn.nets.device import core_count, threads
from withhold.methods.modifier import FloatArray

# Every block has the same size (the last one is padded), so the choice of kernels, and with it the
# last bits of the result, does not depend on the batches of the caller.
BLOCK = 512


def in_fixed_blocks(
    work: Callable[[Tensor], Tensor], x: FloatArray, *, outputs: int, block: int = BLOCK
) -> FloatArray:
    """work(x): (n, d) -> (n, outputs), where `work` treats each row of (block, d) by itself.

    `work` is called in inference mode by one thread. Rows beyond the last record are zeros.
    """
    out = np.empty((len(x), outputs), np.float32)

    @torch.inference_mode()
    def fill(start: int) -> None:
        size = min(block, len(x) - start)
        # A copy: torch needs a writable array, and arrays from Arrow are read-only.
        piece = np.zeros((block, x.shape[1]), np.float32)
        piece[:size] = x[start : start + size]
        out[start : start + size] = work(torch.from_numpy(piece))[:size].numpy()

    starts = range(0, len(x), block)
    # One thread per block: the number of threads also determines the last bits. The cores work on
    # different blocks instead.
    with threads(1):
        if len(starts) == 1:
            fill(0)
        else:
            with ThreadPoolExecutor(max(min(core_count(), len(starts)), 1)) as pool:
                list(pool.map(fill, starts))
    return out
