"""Records through a network in blocks of one size, so that no bit depends on how they were cut."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from withhold.learn.nets.device import core_count, threads
from withhold.methods.modifier import FloatArray

# Records go through in blocks of one fixed size (the last one padded), so that the kernels chosen,
# and with them the last bits, do not depend on how a caller cuts the data.
BLOCK = 512


def in_fixed_blocks(
    work: Callable[[Tensor], Tensor], x: FloatArray, *, outputs: int, block: int = BLOCK
) -> FloatArray:
    """work(x): (n, d) -> (n, outputs), where `work` treats each row of (block, d) by itself.

    `work` is asked in inference mode by one thread; rows beyond the last record are zeros.
    """
    out = np.empty((len(x), outputs), np.float32)

    @torch.inference_mode()
    def fill(start: int) -> None:
        size = min(block, len(x) - start)
        # A copy: torch takes no array that cannot be written to, and Arrow hands out such.
        piece = np.zeros((block, x.shape[1]), np.float32)
        piece[:size] = x[start : start + size]
        out[start : start + size] = work(torch.from_numpy(piece))[:size].numpy()

    starts = range(0, len(x), block)
    # One thread a block, for the same reason: how many share a block decides the last bits too.
    # The cores work on different blocks instead.
    with threads(1):
        if len(starts) == 1:
            fill(0)
        else:
            with ThreadPoolExecutor(max(min(core_count(), len(starts)), 1)) as pool:
                list(pool.map(fill, starts))
    return out
