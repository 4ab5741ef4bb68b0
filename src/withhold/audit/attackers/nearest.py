"""`nearest`: the k nearest records of train vote. Reads clusters without a smooth border."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from withhold.audit.attackers.attacker import (
    Attacker,
    FittedAttacker,
    FloatArray,
    ViewName,
    attacker,
    log_shares,
)
from withhold.records.attribute import Attribute

_BLOCK = 4_000_000  # distances at a time: 16 MB, which stay in the processor's cache


@attacker
@dataclass(frozen=True)
class Nearest(Attacker):
    """Euclidean neighbours in the reduced view; val chooses how many of them vote."""

    name: ClassVar[str] = "nearest"
    view: ClassVar[ViewName] = "reduced"
    raw: ClassVar[bool] = True  # also a model of the originals
    neighbours: tuple[int, ...] = (1, 5, 15, 50)

    def fit(
        self,
        x: FloatArray,
        attribute: Attribute,
        x_val: FloatArray,
        attribute_val: Attribute,
        *,
        seed: int,
    ) -> NearestPrediction:
        """Keep the labelled records, and try each number of neighbours on val."""
        known = attribute.known
        kept = attribute.rows(known)
        able = [k for k in self.neighbours if k <= len(kept.codes)] or [len(kept.codes)]
        shares = log_shares(attribute)
        most = able[-1]
        base = NearestPrediction(x[known], kept.codes, len(attribute.classes), shares, most, most)
        judged = attribute_val.known
        if not judged.any() or len(able) == 1:
            return base
        near = np.concatenate(list(base.neighbours(x_val[judged])))
        truth = attribute_val.codes[judged]
        right = [_right(base.votes(near[:, :k]), truth) for k in able]
        return replace(base, k=able[int(np.argmax(right))])

    def cost(self, n: int, d: int, classes: int) -> float:
        """A matrix product of val and test with train."""
        return 0.05 + 2.0 * n * (n * 0.7) * d / 4e10


@dataclass(frozen=True, eq=False)
class NearestPrediction(FittedAttacker):
    """The records of train and their labels."""

    x: FloatArray
    codes: npt.NDArray[np.int64]  # (n,), or (n, k) of 0, 1, -1
    classes: int
    shares: FloatArray
    k: int  # how many vote
    most: int  # how many are looked up, the same as when k was chosen, so that ties break alike

    def logits(self, x: FloatArray) -> FloatArray:
        """log of the neighbours' votes, smoothed by one vote of the class shares; (n, classes)."""
        pieces = [self.votes(near[:, : self.k]) for near in self.neighbours(x)]
        return np.concatenate(pieces) if pieces else np.zeros((0, self.classes), np.float32)

    def neighbours(self, x: FloatArray) -> Iterator[npt.NDArray[np.int64]]:
        """Rows of the nearest records, nearest first, block by block."""
        import torch

        train = torch.from_numpy(np.ascontiguousarray(self.x))
        norms = train.square().sum(dim=1)
        block = min(max(_BLOCK // max(len(self.x), 1), 1), max(len(x), 1))
        # One buffer for all blocks. A new one for each cannot be freed: what the caller keeps of a
        # block lies behind it on the heap, and 120,000 records took 15 GiB.
        buffer = torch.empty(block, len(train))
        for start in range(0, len(x), block):
            piece = torch.from_numpy(np.ascontiguousarray(x[start : start + block]))
            # |t|² - 2 x·t; |x|² is left out because it is constant within a row.
            distance = torch.addmm(norms, piece, train.T, alpha=-2, out=buffer[: len(piece)])
            yield distance.topk(self.most, dim=1, largest=False).indices.numpy()

    def votes(self, near: npt.NDArray[np.int64]) -> FloatArray:
        """Log shares of the votes (n, classes) of neighbours (n, k)."""
        if self.codes.ndim == 2:
            found = self.codes[near]
            yes, no = (found == 1).sum(axis=1), (found == 0).sum(axis=1)
            share = 1 / (1 + np.exp(-self.shares))
            odds: FloatArray = np.log((yes + share) / (no + 1 - share)).astype(np.float32)
            return odds
        n, k = near.shape
        flat = np.arange(n)[:, None] * self.classes + self.codes[near]
        # If counts are equal, the nearer neighbours win.
        weight = np.broadcast_to(1 - 1e-3 * np.arange(k) / k, (n, k))
        counts = np.bincount(flat.reshape(-1), weight.reshape(-1), minlength=n * self.classes)
        smoothed = (counts.reshape(n, self.classes) + np.exp(self.shares)) / (k + 1)
        out: FloatArray = np.log(smoothed).astype(np.float32)
        return out


def _right(logits: FloatArray, truth: npt.NDArray[np.int64]) -> float:
    if truth.ndim == 2:
        known = truth >= 0
        return float(((logits > 0) == (truth == 1))[known].mean())
    return float((logits.argmax(axis=1) == truth).mean())
