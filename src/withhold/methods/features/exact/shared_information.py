"""What the codes keep, measured without a label: what a code tells of near records' codes.

Nobody has said what the release is for. But what two near records of *different* classes have in
common is content and not class, and a release that keeps it gives them codes that go together. So
candidates are compared by the mutual information, in bits, between the code J of a record and the
code J' of one of its nearest records of another class (and of the same preserved value):

    I(J; J') = sum_jk p_jk log2(p_jk / (p_j p_k)),
    p_jk = mean over pairs (i, i') of W(j | i) W(k | i'), made symmetric.

Codes that split at random what belongs together add nothing, and codes that merge what differs
lose. Few pairs show information where there is none, so I of pairs at random is subtracted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from withhold.learn.training import seeded
from withhold.methods.features.codebook.learner import Task

_RECORDS = 2000  # whose nearest are found
_AMONG = 30_000  # records among which they are found
_NEAREST = 8
_BLOCK = 500
_TINY = 1e-30


@dataclass(frozen=True, eq=False)
class NearPairs:
    """Rows of records (m,), of their nearest of another class (m, k), and of random ones (m, k)."""

    records: Tensor
    near: Tensor
    random: Tensor

    def information(self, plan: Callable[[Tensor], Tensor]) -> float:
        """I(J; J') in bits; plan: rows (r,) to W(j | i) of these rows (r, N)."""
        rows, place = torch.cat(
            [self.records, self.near.reshape(-1), self.random.reshape(-1)]
        ).unique(return_inverse=True)
        w = plan(rows)
        m, k = self.near.shape
        own, near, random = place.split([m, m * k, m * k])
        first = w[own]
        return _bits(first, w[near].view(m, k, -1).mean(dim=1)) - _bits(
            first, w[random].view(m, k, -1).mean(dim=1)
        )


def near_pairs(task: Task, z: Tensor) -> NearPairs | None:
    """Pairs of records z (n, p) of the task; None if hardly any other class is near.

    Only records with the same preserved value are compared, since codes stand for one value.
    """
    generator = seeded(task.seed, "near pairs")
    among = torch.randperm(len(z), generator=generator)[:_AMONG]
    z, s, u = z[among], task.s[among], task.u[among]
    found = []
    for part in torch.arange(min(len(z), _RECORDS)).split(_BLOCK):
        other = (s[part][:, None] != s[None, :]) & (u[part][:, None] == u[None, :])
        able = other.sum(dim=1) >= _NEAREST
        part, other = part[able], other[able]
        if not len(part):
            continue
        far = torch.cdist(z[part], z).masked_fill(~other, torch.inf)
        near = far.topk(_NEAREST, dim=1, largest=False).indices
        random = torch.multinomial(other.float(), _NEAREST, generator=generator)
        found.append((among[part], among[near], among[random]))
    if not found:
        return None
    return NearPairs(*(torch.cat(column) for column in zip(*found, strict=True)))


def _bits(a: Tensor, b: Tensor) -> float:
    """The information between codes drawn from a (m, N) and from b (m, N)."""
    joint = (a.T @ b).double() / len(a)
    joint = (joint + joint.T) / 2
    log = joint.clamp_min(_TINY).log2()
    alone = joint.sum(dim=1).clamp_min(_TINY).log2()
    return float((joint * (log - alone[:, None] - alone[None, :])).sum())
