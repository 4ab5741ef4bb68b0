"""How far the modified record is from the original (MaSS Eq. 4)."""

from __future__ import annotations

from torch import Tensor


def reconstruction(x_new: Tensor, x: Tensor) -> Tensor:
    """mean ||x' - x||_2: the norm, not its square; x: (n, d).

    The small constant keeps the gradient finite where a record is not changed at all.
    """
    return ((x_new - x).square().sum(-1) + 1e-12).sqrt().mean()
