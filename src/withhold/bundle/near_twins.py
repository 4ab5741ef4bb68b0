"""Recognise records that were exported again: rounded, rescaled, normalised, with a little noise.

A record x: (d,) is represented in two ways: by its standardised features, and by its direction
x / |x|, which per-record normalisation keeps. Each is projected to k <= 16 numbers by a keyed
random matrix. Let f be the nearest fitted record in one of these spaces, and s(f) the distance from
f to its nearest other fitted record. x is a *near-twin* if |x - f| < 0.1 s(f): far closer than
fitted records are to each other in that region. The comparison uses the local distance, so it does
not matter where new records lie, and honest data with another mix of classes is not refused.

The natural rate of near-twins is measured by the same rule among the fitted records, each left out
in turn. A record whose value occurs twice has a twin. Distances are between different values, so a
table that repeats its rows is judged like any other.

Noise as large as the distance between fitted records is not recognised. Time and memory are
bounded: at most 32,768 fitted values are kept and at most 4,096 records are compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError
from withhold.core.keyed import other_key

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
DIRECTIONS = 16
KEPT = 32_768
COMPARED = 4_096
NEAR = 0.1  # of the local distance between fitted records
_BLOCK = 256
_LOW = 8  # dimensions in which a tree finds neighbours faster than a product of matrices
_MOST = 1e15
_SPACES = ("features", "direction")


@dataclass(frozen=True)
class NearTwins:
    """How many of `compared` records are near-twins, and how many of the fitted records are."""

    found: int
    compared: int
    natural: int
    fitted: int
    coverage: float

    @property
    def share(self) -> float:
        """The share of near-twins, extrapolated from the fitted records kept to all of them."""
        return min(1.0, self.found / max(self.compared, 1) / self.coverage)

    def above_chance(self, chance: float) -> bool:
        """Whether there are more near-twins than honest data has, except with probability `chance`.

        Near-twins among the fitted records come in pairs, so half of them are counted.
        """
        from scipy.stats import beta, binom

        n, k = max(self.fitted // 2, 1), self.natural // 2
        usual = 1.0 if k >= n else float(beta.ppf(1 - chance / 2, k + 1, n - k))
        return bool(self.found > binom.ppf(1 - chance / 2, self.compared, usual))


@dataclass(frozen=True, eq=False)
class Sketches:
    """Projections of a keyed sample of the fitted values, (m, k) for each space.

    `counts` (m,) is how many records have each value.
    """

    key: bytes
    mean: FloatArray
    scale: FloatArray
    features: FloatArray
    direction: FloatArray
    counts: IntArray
    coverage: float

    @classmethod
    def of(cls, x: FloatArray, hashes: npt.NDArray[np.uint64], key: bytes) -> Sketches:
        """Sketch the records x: (n, d). The values with the smallest keyed hashes (n,) are kept."""
        mean = x.mean(axis=0, dtype=np.float64).astype(np.float32)
        deviation = x.std(axis=0, dtype=np.float64)
        scale = np.where(deviation > 0, deviation, 1).astype(np.float32)
        values, first, counts = np.unique(hashes, return_index=True, return_counts=True)
        coverage = min(1.0, KEPT / max(len(values), 1))
        empty = np.empty((0, 0), np.float32)
        made = cls(key, mean, scale, empty, empty, counts[:KEPT].astype(np.int64), coverage)
        features, direction = made.project(x[first[:KEPT]])
        return replace(made, features=features, direction=direction)

    def project(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """x: (n, d) in both spaces, (n, k) each."""
        d = x.shape[1]
        k = min(DIRECTIONS, d)
        out = []
        for space in _SPACES:
            seed = int.from_bytes(other_key(self.key, f"sketch of {space}"), "little")
            matrix = np.random.default_rng(seed).standard_normal((d, k)) / np.sqrt(d)
            pieces = [np.empty((0, k), np.float32)]
            for at in range(0, len(x), _BLOCK * 16):
                part = x[at : at + _BLOCK * 16].astype(np.float64)
                if space == "features":
                    part = (part - self.mean) / self.scale
                else:
                    length = np.linalg.norm(part, axis=1, keepdims=True)
                    part = part / np.where(length > 0, length, 1) * np.sqrt(d)
                # Squares of any features must fit into float32.
                pieces.append(np.clip(part @ matrix, -_MOST, _MOST).astype(np.float32))
            out.append(np.concatenate(pieces))
        return out[0], out[1]

    def near_twins(self, x: FloatArray) -> NearTwins:
        """Near-twins of fitted records among x: (n, d), in the space that has more of them."""
        rng = np.random.default_rng(int.from_bytes(other_key(self.key, "compared"), "little"))
        fitted = len(self.features)
        if fitted < 3 or not len(x):
            return NearTwins(0, len(x), 0, fitted, self.coverage)
        rows = np.sort(rng.permutation(len(x))[:COMPARED])
        own = np.sort(rng.permutation(fitted)[:COMPARED])
        best = None
        for known, new in zip((self.features, self.direction), self.project(x[rows]), strict=True):
            least = 1e-3 * float(np.median(np.abs(known - np.median(known, axis=0))) + 1e-9)
            found = _near(new, known, None, least)
            natural = _near(known[own], known, own, least) | (self.counts[own] > 1)
            here = NearTwins(
                int(found.sum()),
                len(rows),
                int(self.counts[own][natural].sum()),
                int(self.counts[own].sum()),
                self.coverage,
            )
            excess = here.found / here.compared - here.natural / here.fitted
            if best is None or excess > best[0]:
                best = (excess, here)
        assert best is not None
        return best[1]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays to save in the bundle."""
        return {
            "sketch.mean": self.mean,
            "sketch.scale": self.scale,
            "sketch.features": self.features,
            "sketch.direction": self.direction,
            "sketch.counts": self.counts,
            "sketch.coverage": np.asarray([self.coverage], np.float64),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]], key: bytes) -> Sketches:
        """Read what `arrays` returned."""
        names = ("mean", "scale", "features", "direction", "counts", "coverage")
        try:
            mean, scale, features, direction, counts, coverage = (
                arrays[f"sketch.{n}"] for n in names
            )
        except KeyError as error:
            raise UserError(f"the fit membership has no {error}; fit again") from error
        k = min(DIRECTIONS, len(mean)) if mean.ndim == 1 else 0
        right = (
            mean.ndim == 1
            and mean.shape == scale.shape
            and features.shape == direction.shape == (len(features), k)
            and len(features) <= KEPT
            and counts.shape == (len(features),)
            and counts.dtype == np.int64
            and bool((counts > 0).all())
            and bool((counts < 2**40).all())
            and all(a.dtype == np.float32 for a in (mean, scale, features, direction))
            and all(np.isfinite(a).all() for a in (mean, scale, features, direction))
            and bool((np.abs(np.concatenate([features, direction])) <= _MOST).all())
            and bool((scale > 0).all())
            and coverage.shape == (1,)
            and 0 < float(coverage[0]) <= 1
        )
        if not right:
            raise UserError("the sketches of the fit membership do not fit together; fit again")
        return cls(key, mean, scale, features, direction, counts, float(coverage[0]))


def _near(
    x: FloatArray, known: FloatArray, own: IntArray | None, least: float
) -> npt.NDArray[np.bool_]:
    """Which x: (n, k) are near-twins of `known`: (m, k); `own` (n,) are their rows in `known`."""
    places = None if own is None else own[:, None]
    nearest, distance = _nearest(x, known, places)
    without = nearest[:, None] if places is None else np.hstack([nearest[:, None], places])
    _, local = _nearest(known[nearest], known, without)
    near: npt.NDArray[np.bool_] = distance < NEAR * np.maximum(local, least)
    return near


def _nearest(
    x: FloatArray, known: FloatArray, without: IntArray | None
) -> tuple[IntArray, npt.NDArray[np.float64]]:
    """The nearest of `known`: (m, k) to each x: (n, k), leaving out the rows `without` (n, w)."""
    find = _by_tree if known.shape[1] <= _LOW else _by_product
    place = find(x, known, without)
    gaps = known[place].astype(np.float64) - x
    return place, np.sqrt(np.einsum("nk,nk->n", gaps, gaps))


def _by_tree(x: FloatArray, known: FloatArray, without: IntArray | None) -> IntArray:
    from scipy.spatial import KDTree

    several = 1 if without is None else 1 + without.shape[1]
    places = np.asarray(KDTree(known).query(x, k=[*range(1, several + 1)])[1], np.int64)
    if without is None:
        first: IntArray = places[:, 0]
        return first
    # Among several equal records the tree may not give the one that is left out.
    allowed = (places[:, :, None] != without[:, None, :]).all(axis=2)
    found: IntArray = np.take_along_axis(places, allowed.argmax(axis=1)[:, None], 1)[:, 0]
    return found


def _by_product(x: FloatArray, known: FloatArray, without: IntArray | None) -> IntArray:
    place = np.empty(len(x), np.int64)
    middle = known.mean(axis=0)
    known, x = known - middle, x - middle  # less rounding
    squares = np.einsum("mk,mk->m", known, known)
    for at in range(0, len(x), _BLOCK):
        score = squares - 2 * x[at : at + _BLOCK] @ known.T
        if without is not None:
            np.put_along_axis(score, without[at : at + _BLOCK], np.inf, axis=1)
        place[at : at + _BLOCK] = score.argmin(axis=1)
    return place
