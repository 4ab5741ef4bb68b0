"""`bits`: the raw bits of the released numbers. Reads labels hidden in single bits."""

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

_BITS = 32
_ROWS = 20_000  # records used to rank the bits
_COLUMNS = 32  # columns ranked at a time, so that their words stay in the processor's cache
Places = npt.NDArray[np.int64]  # (m, 2): feature and bit


@attacker
@dataclass(frozen=True)
class Bits(Attacker):
    """Logistic regression on the bits of the float32 features that differ most between classes.

    Features (n, d) have 32 d bits. They are ranked by the chi-squared statistic of their table
    with the classes, and the regression gets the `most` highest.
    """

    name: ClassVar[str] = "bits"
    view: ClassVar[ViewName] = "raw"
    most: int = 64
    flops: float = 5e10

    def fit(
        self,
        x: FloatArray,
        attribute: Attribute,
        x_val: FloatArray,
        attribute_val: Attribute,
        *,
        seed: int,
    ) -> BitsPrediction:
        """Rank the bits on train, then fit."""
        heads, places = [], []
        for a, v in zip(per_label(attribute), per_label(attribute_val), strict=True):
            chosen = telling_bits(x, a, self.most)
            seen, held = _take(x, chosen), _take(x_val, chosen)
            heads.append(fit_linear(seen, a, held, v, strengths=(0.3,), flops=self.flops))
            places.append(chosen)
        return BitsPrediction(tuple(places), tuple(heads), attribute.multilabel)

    def cost(self, n: int, d: int, classes: int) -> float:
        """One product of each bit plane with the classes, then the regression."""
        ranked = 2.0 * min(n, _ROWS) * d * _BITS * (classes + 4)
        return 0.05 + ranked / 1e10 + min(4.0 * n * self.most * classes * 80, self.flops) / 5e10


@dataclass(frozen=True, eq=False)
class BitsPrediction(FittedAttacker):
    """The chosen bits and a linear map on them, for each label."""

    places: tuple[Places, ...]
    heads: tuple[tuple[FloatArray, FloatArray], ...]
    multilabel: bool

    def logits(self, x: FloatArray) -> FloatArray:
        """Scores of each class, (n, k)."""
        if not self.multilabel:
            return LinearPrediction(self.heads, False).logits(_take(x, self.places[0]))
        said = [
            LinearPrediction((head,), True).logits(_take(x, places))
            for places, head in zip(self.places, self.heads, strict=True)
        ]
        return np.concatenate(said, axis=1)


def telling_bits(x: FloatArray, attribute: Attribute, most: int) -> Places:
    """The bits with the highest chi-squared statistic against the classes, (most, 2)."""
    rows = np.flatnonzero(attribute.known)[:_ROWS]
    codes = attribute.codes[rows]
    hot = np.zeros((len(attribute.classes), len(rows)), np.float32)
    hot[codes, np.arange(len(rows))] = 1
    sizes = hot.sum(axis=1)[:, None]
    found = np.zeros((_BITS, x.shape[1]))
    for start in range(0, x.shape[1], _COLUMNS):
        piece = slice(start, start + _COLUMNS)
        words = _words(x[rows, piece])
        for bit in range(_BITS):
            ones = hot @ (words >> bit & 1).astype(np.float32)  # (k, columns), exact counts
            rate = ones.sum(axis=0) / max(len(rows), 1)
            spread = np.maximum(sizes * (rate * (1 - rate)), 1e-9)
            told = np.where(sizes > 0, np.square(ones - sizes * rate) / spread, 0)
            found[bit, piece] = told.sum(axis=0)
    order = np.argsort(-found, axis=None, kind="stable")[:most]
    bits, features = np.unravel_index(order, found.shape)
    return np.stack([features, bits], axis=1)


def _words(x: FloatArray) -> npt.NDArray[np.uint32]:
    return np.ascontiguousarray(x, np.float32).view(np.uint32)


def _take(x: FloatArray, places: Places) -> FloatArray:
    """The chosen bits as -1 or 1, (n, m)."""
    bits = _words(x)[:, places[:, 0]] >> places[:, 1].astype(np.uint32) & 1
    return bits.astype(np.float32) * 2 - 1
