"""The space in which records of different classes are compared.

A record is compared by its place within its own class: z = P (x - mu_s) / scale_s. The rows of P
are the principal directions of the scatter within classes, each divided by the square root of its
deviation. (Dividing by the deviation itself gives noise the weight of content; not dividing leaks
more.) scale_s brings every class to the common spread.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_EXACT = 2048  # up to this many features, the whole scatter matrix is decomposed


@dataclass(frozen=True, eq=False)
class Metric:
    """means (K, d), directions (d, p), scale (K,): z has mean square length 1."""

    means: Tensor
    directions: Tensor
    scale: Tensor

    def place(self, x: Tensor, s: Tensor) -> Tensor:
        """z (n, p) of records x (n, d) of classes s (n,)."""
        return ((x - self.means[s]) @ self.directions) / self.scale[s, None]


def fit_metric(x: Tensor, s: Tensor, classes: int, directions: int, seed: int) -> Metric:
    """The metric of records x (n, d) with classes s (n,); every class has records."""
    # Squares of features of any size must fit into float32.
    unit = 1 / x.abs().max().clamp_min(1e-30)
    count = torch.bincount(s, minlength=classes).clamp_min(1)
    means = torch.zeros(classes, x.shape[1]).index_add_(0, s, x * unit) / count[:, None]
    absent = torch.bincount(s, minlength=classes) == 0  # a class that only calibration records have
    means[absent] = (x * unit).mean(dim=0)
    inside = x * unit - means[s]
    vectors, deviation = principal(inside, directions, seed)
    vectors = vectors / deviation.sqrt()
    square = (inside @ vectors).square().sum(dim=1)
    spread = torch.zeros(classes).index_add_(0, s, square) / count
    # A class of equal records has no spread of its own.
    typical = square.mean().clamp_min(1e-12)
    scale = torch.where(spread > 1e-6 * typical, spread, typical).sqrt()
    return Metric(means / unit, vectors * unit, scale)


def principal(x: Tensor, most: int, seed: int) -> tuple[Tensor, Tensor]:
    """The first principal directions (d, p) of centred x (n, d), and deviations along them (p,).

    Directions along which nothing varies are left out; there is always one.
    """
    n, d = x.shape
    most = min(most, n, d)
    unit = x.abs().max().clamp_min(1e-30)  # squares of any features must fit into float32
    x = x / unit
    if d <= _EXACT:
        values, vectors = torch.linalg.eigh((x.T @ x).double() / n)
        values, vectors = values.flip(0)[:most], vectors.flip(1)[:, :most]
        deviation = values.clamp_min(0).sqrt().float()
    else:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            _, singular, vectors = torch.svd_lowrank(x, q=min(most + 16, n, d), niter=3)
        deviation, vectors = singular[:most] / n**0.5, vectors[:, :most]
    # Smaller deviations are rounding errors of float32.
    kept = deviation > 1e-3 * deviation[0].clamp_min(1e-12)
    kept[0] = True
    signed = vectors[:, kept].float()
    # A direction and its opposite are equivalent, so the sign is fixed by a rule.
    top = signed.abs().argmax(dim=0)
    signed = signed * signed[top, torch.arange(signed.shape[1])].sign()
    return signed, (deviation[kept] * unit).clamp_min(1e-30)
