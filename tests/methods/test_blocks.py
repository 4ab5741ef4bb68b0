"""Blocks of one size: whoever asks sees the function, `work` sees blocks."""

from __future__ import annotations

import numpy as np
import pytest
from torch import Tensor

from withhold.methods.blocks import in_fixed_blocks


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 40])
def test_it_is_the_function_row_by_row(n: int) -> None:
    x = np.random.default_rng(0).standard_normal((n, 3)).astype(np.float32)
    x.setflags(write=False)
    seen: list[tuple[int, ...]] = []

    def work(piece: Tensor) -> Tensor:
        seen.append(tuple(piece.shape))
        return 2 * piece[:, :2]

    out = in_fixed_blocks(work, x, outputs=2, block=8)
    np.testing.assert_array_equal(out, 2 * x[:, :2])
    assert out.dtype == np.float32
    assert seen == [(8, 3)] * -(-n // 8)
