"""`parity`: products of signs of any number of features. Reads leaks that need many features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from withhold.audit.attackers.attacker import (
    Attacker,
    FittedAttacker,
    FloatArray,
    ViewName,
    attacker,
    per_label,
)
from withhold.audit.attackers.logistic import LinearPrediction, fit_linear
from withhold.records.attribute import Attribute

_MOST = 18  # features; all 2^18 products are tried
Array = npt.NDArray[np.float64]


@attacker
@dataclass(frozen=True)
class Parity(Attacker):
    """Logistic regression on the products of signs that correlate best with each class.

    With b_j = 1 where feature j is above its median, the correlations of a class with all 2^d
    products of signs are the Walsh-Hadamard transform of its table over the 2^d sign patterns. The
    regression gets the `most` best products, and the magnitudes of their weakest factors. Only
    signs of the features themselves are used, so a parity along other axes is not found.
    """

    name: ClassVar[str] = "parity"
    view: ClassVar[ViewName] = "standard"
    most: int = 16

    def fit(
        self,
        x: FloatArray,
        attribute: Attribute,
        x_val: FloatArray,
        attribute_val: Attribute,
        *,
        seed: int,
    ) -> ParityPrediction:
        """Transform on train, then fit."""
        median = np.median(x, axis=0)
        subsets, heads = [], []
        for a, v in zip(per_label(attribute), per_label(attribute_val), strict=True):
            chosen = _best_products(x > median, a, self.most)
            seen, held = (_products(part, median, chosen) for part in (x, x_val))
            heads.append(fit_linear(seen, a, held, v, strengths=(0.3,), flops=2e10))
            subsets.append(chosen)
        return ParityPrediction(median, tuple(subsets), tuple(heads), attribute.multilabel)

    def declines(self, n: int, d: int, classes: int) -> str | None:
        """Decline if there are too many products to try all of them, or too many classes."""
        if d > _MOST:
            return f"all products of {d:,} signs are too many; it tries {_MOST} features at most"
        return f"{classes:,} classes are too many for products of signs" if classes > 50 else None

    def cost(self, n: int, d: int, classes: int) -> float:
        """A transform of 2^d numbers per class, and the regression."""
        d = min(d, _MOST)
        return 0.05 + classes * d * 2.0**d * 4e-9 + 4.0 * n * 2 * self.most * classes * 80 / 5e10


@dataclass(frozen=True, eq=False)
class ParityPrediction(FittedAttacker):
    """The chosen sets of features and a linear map on their products, for each label."""

    median: FloatArray
    subsets: tuple[npt.NDArray[np.bool_], ...]
    heads: tuple[tuple[FloatArray, FloatArray], ...]
    multilabel: bool

    def logits(self, x: FloatArray) -> FloatArray:
        """Scores of each class, (n, k)."""
        said = [
            LinearPrediction((head,), self.multilabel).logits(_products(x, self.median, chosen))
            for chosen, head in zip(self.subsets, self.heads, strict=True)
        ]
        return np.concatenate(said, axis=1)


def _best_products(
    above: npt.NDArray[np.bool_], attribute: Attribute, most: int
) -> npt.NDArray[np.bool_]:
    """The sets of features, (most, d), with the sign products that correlate best with a class."""
    known, d = attribute.known, above.shape[1]
    pattern = above[known] @ (1 << np.arange(d))
    codes = attribute.codes[known]
    total = np.bincount(pattern, minlength=1 << d).astype(np.float64)
    best = np.zeros(1 << d)
    for c in np.unique(codes):
        mine = np.bincount(pattern[codes == c], minlength=1 << d)
        p = mine.sum() / max(len(codes), 1)
        best = np.maximum(best, np.abs(_walsh(mine - p * total)) / np.sqrt(max(p * (1 - p), 1e-9)))
    best[0] = -1.0  # the empty product
    chosen = np.argsort(-best, kind="stable")[:most]
    return (chosen[:, None] >> np.arange(d) & 1).astype(bool)


def _walsh(table: Array) -> Array:
    """sum_p (-1)^(|p & q|) table[p] for every q, by butterflies."""
    out = np.asarray(table, np.float64)
    step = 1
    while step < len(out):
        pairs = out.reshape(-1, 2, step)
        out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        step *= 2
    return out


def _products(x: FloatArray, median: FloatArray, chosen: npt.NDArray[np.bool_]) -> FloatArray:
    """Products of signs, and these times the magnitude of the weakest factor: (n, 2 most)."""
    centred = x - median
    signs = np.where(centred > 0, 1.0, -1.0)
    size = np.minimum(np.abs(centred), 2.0)
    found = [
        (signs[:, mine].prod(axis=1), size[:, mine].min(axis=1, initial=2.0)) for mine in chosen
    ]
    product = np.stack([sign for sign, _ in found], axis=1)
    weakest = np.stack([weak for _, weak in found], axis=1)
    return np.concatenate([product, product * weakest], axis=1).astype(np.float32)
