"""InfoNCE: how well a modified record identifies its original within a batch."""

from __future__ import annotations

from torch import Tensor

from withhold.learn.nets.perceptron import unit


def info_nce(p: Tensor, p_new: Tensor, *, temperature: float = 0.07) -> Tensor:
    """L = -mean log( e^{c(x,x')/t} / sum_y e^{c(x,y')/t} ), both directions averaged.

    p and p_new: (n, h), the critics of x and of x', row i of each a pair; c is the cosine. It
    gives a lower bound on what the release tells about the record: I(X; X') >= log n - L.
    """
    across = unit(p) @ unit(p_new).T / temperature  # (n, n), its diagonal the pairs
    return (0.5 * (across.logsumexp(1) + across.logsumexp(0)) - across.diagonal()).mean()
