"""The views of a dataset that attackers share: standardised, and reduced to principal directions.

They are fitted on the train part of the attacked data, computed once, and used by every attacker
on every attribute.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.audit.attackers.attacker import FloatArray, ViewName

FloatArray64 = npt.NDArray[np.float64]
_FAR = 10.0  # standard deviations beyond which values are compressed
_EXACT = 2048  # rows of the largest matrix that is decomposed
WIDEST = 256  # directions of the reduced view; data with at most as many features is not reduced


@dataclass(frozen=True, eq=False)
class FeatureViews:
    """(x - mean) / scale, and its projection on the first principal directions."""

    mean: FloatArray64  # (d,)
    scale: FloatArray64  # (d,)
    axes: FloatArray | None  # (d, WIDEST), or None if nothing is reduced

    @classmethod
    def of(cls, x: FloatArray, *, seed: int = 0) -> FeatureViews:
        """Fit the views to records x: (n, d)."""
        mean, scale = _standard(x)
        if x.shape[1] <= WIDEST:
            return cls(mean, scale, None)
        rows = np.random.default_rng([seed, 0x71E]).permutation(len(x))[:20000]
        return cls(mean, scale, _principal(_standardised(x[np.sort(rows)], mean, scale), seed))

    def see(self, name: ViewName, x: FloatArray) -> FloatArray:
        """Records x: (n, d) in one of the views."""
        if name == "raw":
            return x
        axes = None if name == "standard" else self.axes
        width = len(self.mean) if axes is None else axes.shape[1]
        out: FloatArray = np.empty((len(x), width), np.float32)
        for start in range(0, len(x), 4096):  # block by block, to avoid a second full copy
            piece = _standardised(x[start : start + 4096], self.mean, self.scale)
            out[start : start + 4096] = piece if axes is None else piece @ axes
        return out


def _principal(x: FloatArray, seed: int) -> FloatArray:
    """The first principal directions (d, WIDEST) of centred x, scaled by one common factor to a
    mean square of 1: distances keep their proportions, and learning rates still fit.

    Fewer records than features have no more directions than records: those are returned alone."""
    if len(x) < x.shape[1] and len(x) <= _EXACT:
        values, vectors = _of_few_records(x)
    elif x.shape[1] <= _EXACT:
        values, vectors = np.linalg.eigh((x.T @ x) / len(x))
        values, vectors = values[::-1][:WIDEST], vectors[:, ::-1][:, :WIDEST]
    else:
        from sklearn.utils.extmath import randomized_svd

        _, found, right = randomized_svd(x[:6000], WIDEST, random_state=seed % 2**31)
        values, vectors = found**2 / min(len(x), 6000), right.T
    typical = np.sqrt(max(float(np.clip(values, 0, None).sum() / WIDEST), 1e-12))
    return np.ascontiguousarray(vectors / typical, dtype=np.float32)


def _of_few_records(x: FloatArray) -> tuple[FloatArray64, FloatArray64]:
    """Variances and principal directions (d, k) of n < d records, from products of records.

    If u is an eigenvector of x x^T / n (n, n) with eigenvalue v, then x^T u / sqrt(n v) is one of
    x^T x / n (d, d) with the same. The small matrix takes (d / n)^3 times less work.
    """
    wide = x.astype(np.float64)
    values, vectors = np.linalg.eigh((wide @ wide.T) / len(x))
    values, vectors = values[::-1][:WIDEST], vectors[:, ::-1][:, :WIDEST]
    # Where nothing varies there is no direction; one is kept, so that the view has a column.
    kept = values > 1e-10 * max(float(values[0]), 1e-300)
    kept[0] = True
    scale = np.sqrt(len(x) * np.maximum(values[kept], 1e-300))
    return values[kept], (wide.T @ vectors[:, kept]) / scale


def _standard(x: FloatArray) -> tuple[FloatArray64, FloatArray64]:
    """Mean and standard deviation, with the outermost half per cent on each side clipped.

    One record of 1e12 (a sensor's error, or a release that tries to blind its auditor) must not
    squeeze all others into one point.
    """
    step = max(len(x) // 5000, 1)
    sample = x[::step].astype(np.float64)
    low, high = np.quantile(sample, [0.005, 0.995], axis=0, method="nearest")
    inner = np.clip(sample, low, high)
    mean, scale = inner.mean(axis=0), inner.std(axis=0)
    # If a feature is constant in nearly all records, use all of its values, unclipped.
    rare = scale <= 1e-7 * np.abs(mean)
    whole, spread = sample.mean(axis=0), sample.std(axis=0)
    mean[rare], scale[rare] = whole[rare], spread[rare]
    # A constant feature reveals nothing; do not magnify its rounding errors. The threshold is
    # relative to the feature itself: a small feature among large ones may hold the leak.
    scale[scale <= 1e-7 * np.abs(mean)] = 1.0
    return mean, scale


def _standardised(x: FloatArray, mean: FloatArray64, scale: FloatArray64) -> FloatArray:
    """(x - mean) / scale, growing only as a logarithm beyond _FAR. This keeps the order, and
    outliers do not dominate."""
    z = (x - mean) / scale
    size = np.abs(z)
    far = size > _FAR
    if far.any():
        z[far] = np.sign(z[far]) * (_FAR + np.log(size[far] / _FAR))
    return z.astype(np.float32)
