"""Penalties where a suppressed attribute leaks more than its limit, or a preserved one keeps less.

An attribute model with cross-entropy CE knows H - CE of the attribute's H. Units are nats.
"""

from __future__ import annotations

from torch import Tensor


def leak_penalty(cross_entropy: Tensor, *, entropy: float, most: float) -> Tensor:
    """v^2 + |v| with v = min(CE - H(S) + m, 0): the adversary knows more than m of S."""
    return _penalty((cross_entropy - entropy + most).clamp(max=0))


def loss_penalty(cross_entropy: Tensor, *, entropy: float, least: float) -> Tensor:
    """v^2 + |v| with v = max(CE - H(U) + n, 0): the model knows less than n of U."""
    return _penalty((cross_entropy - entropy + least).clamp(min=0))


def _penalty(v: Tensor) -> Tensor:
    """The square has a large gradient far from the limit, the absolute value one near it."""
    return v.square() + v.abs()
