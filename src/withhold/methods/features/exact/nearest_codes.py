"""Codes of a metric by k-means, balanced over the classes on each record's nearest codes.

Thousands of codes make the plan of all pairs (n, N) slow. Here a record is only compared with its
`NEAR` nearest codes. As in `codebook.codes`: transport of every class onto the codes with the same
shares, then codes = means of the records that were transported to them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from withhold.core.progress import Stage
from withhold.methods.features.codebook.codes import kmeans

NEAR = 64
_MOVES = 3
_STEPS = 80
_FEWEST = 8  # records of a code
_AGAIN = 12
_BLUR = 0.1  # of the mean square distance to the nearest code
_BLOCK = 4096
_TINY = 1e-30


@dataclass(frozen=True, eq=False)
class NearestCodes:
    """codes (N, p), their preserved value (N,), log shares (U, N), potentials (C, N), and blur."""

    codes: Tensor
    value: Tensor
    log_shares: Tensor
    potentials: Tensor
    blur: float


def nearest_codes(
    z: Tensor,
    cell: Tensor,
    u: Tensor,
    value_of_cell: Tensor,
    number: Tensor,
    *,
    seed: int,
    bar: Stage,
) -> NearestCodes:
    """Codes of records z (n, p) with cells (n,) and preserved values u (n,).

    number (U,) says how many codes each preserved value gets.
    """
    values = len(number)
    parts = [_means_of_many(z[u == v], int(number[v]), seed + v) for v in range(values)]
    codes = torch.cat(parts)
    value = torch.repeat_interleave(torch.arange(values), torch.tensor([len(p) for p in parts]))
    stands = value[None, :] == torch.arange(values)[:, None]  # (U, N)
    for move in range(_MOVES):
        index, far = _near(z, codes, u, value)
        blur = max(_BLUR * float(far[:, 0].mean()), 1e-9)
        weights = _shares(index[:, 0], u, stands)
        log_shares = weights.log()
        potentials, w = _transport(-far / blur, index, cell, log_shares[value_of_cell])
        bar.advance()
        if move < _MOVES - 1:
            codes = _means(z, index, w, codes)
    return NearestCodes(codes, value, log_shares, potentials, blur)


def _means_of_many(z: Tensor, k: int, seed: int) -> Tensor:
    """k-means in which no code is left with fewer than `_FEWEST` records, if that can be.

    Single records far from all others would take codes that then have too few people to leave.
    """
    codes = kmeans(z, k, seed)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(_AGAIN):
        nearest = _nearest_of(z, codes)
        count = torch.bincount(nearest, minlength=k)
        few = (count < _FEWEST).nonzero()[:, 0]
        if not len(few):
            break
        # Half of them start again at random records, most of which are in large groups.
        few = few[torch.randperm(len(few), generator=generator)[: (len(few) + 1) // 2]]
        codes[few] = z[torch.randint(len(z), (len(few),), generator=generator)]
        nearest = _nearest_of(z, codes)
        count = torch.bincount(nearest, minlength=k)
        means = torch.zeros_like(codes).index_add_(0, nearest, z) / count.clamp_min(1)[:, None]
        codes = torch.where(count[:, None] > 0, means, codes)
    return codes


def _nearest_of(z: Tensor, codes: Tensor) -> Tensor:
    square = codes.square().sum(dim=1)
    return torch.cat([(square - 2 * part @ codes.T).argmin(dim=1) for part in z.split(_BLOCK)])


def _near(z: Tensor, codes: Tensor, u: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """The nearest codes of each record among those of its preserved value, and squared distances.

    Both (n, NEAR), nearest first.
    """
    near = min(NEAR, int(torch.bincount(value).min()), len(codes))
    square = codes.square().sum(dim=1)
    found, far = [], []
    for part, own in zip(z.split(_BLOCK), u.split(_BLOCK), strict=True):
        distance = part.square().sum(dim=1, keepdim=True) + square - 2 * part @ codes.T
        if int(value.max()) > 0:
            distance = distance.masked_fill(value[None, :] != own[:, None], torch.inf)
        best = distance.topk(near, dim=1, largest=False)
        found.append(best.indices)
        far.append(best.values.clamp_min(0))
    return torch.cat(found), torch.cat(far)


def _shares(nearest: Tensor, u: Tensor, stands: Tensor) -> Tensor:
    """How many records of each preserved value have each code as their nearest, (U, N)."""
    table = torch.zeros(stands.shape).index_put_((u, nearest), torch.ones(len(u)), accumulate=True)
    table = (table + 1) * stands
    return table / table.sum(dim=1, keepdim=True)


def _transport(
    scores: Tensor, index: Tensor, cell: Tensor, log_shares: Tensor
) -> tuple[Tensor, Tensor]:
    """Potentials (C, N), and the plan on the nearest codes (n, NEAR), from soft to sharp."""
    cells, codes = log_shares.shape
    count = torch.bincount(cell, minlength=cells).clamp_min(1)[:, None]
    flat = (cell[:, None] * codes + index).reshape(-1)
    g, before = torch.zeros(cells * codes), 1.0
    w = scores
    for sharpness in (1 / 16, 1 / 4, 1.0):
        g, before = g * (sharpness / before), sharpness
        for _ in range(_STEPS):
            w = torch.softmax(sharpness * scores + g[flat].view_as(scores), dim=1)
            mass = torch.zeros(cells * codes).index_add_(0, flat, w.reshape(-1))
            inside = mass.view(cells, codes) / count
            step = (log_shares - inside.clamp_min(_TINY).log()).clamp(-3, 3)
            g = g + torch.where(log_shares > -torch.inf, step, 0.0).reshape(-1)
            g = g.clamp(-80, 80)
    return g.view(cells, codes), w


def _means(z: Tensor, index: Tensor, w: Tensor, codes: Tensor) -> Tensor:
    """The mean of the records that are transported to each code; an unused code stays."""
    total = torch.zeros(len(codes))
    sums = torch.zeros_like(codes)
    for place in range(index.shape[1]):
        total.index_add_(0, index[:, place], w[:, place])
        sums.index_add_(0, index[:, place], z * w[:, place, None])
    return torch.where(total[:, None] > 1e-3, sums / total.clamp_min(1e-3)[:, None], codes)
