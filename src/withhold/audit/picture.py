"""Pictures for the report: how far records moved, and two maps of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.findings import Distortion, Map
from withhold.records.attribute import Attribute

Points = tuple[tuple[float, float], ...]
_BINS = 30
SHOWN = 500  # records on the map


def distortion(original: FloatArray, release: FloatArray) -> Distortion:
    """Euclidean distances between test records and their releases."""
    wide, centre = original.astype(np.float64), original.mean(axis=0, dtype=np.float64)
    distance = np.linalg.norm(wide - release, axis=1)
    spread = float(np.linalg.norm(wide - centre, axis=1).mean())
    top = float(distance.max(initial=0.0)) or 1.0
    counts, edges = np.histogram(distance, bins=_BINS, range=(0.0, top))
    return Distortion(
        mean=float(distance.mean()),
        relative=float(distance.mean()) / spread if spread > 0 else 0.0,
        edges=tuple(float(e) for e in edges),
        counts=tuple(int(c) for c in counts),
    )


def flat(x: FloatArray, *, seed: int) -> Points:
    """t-SNE of records x: (n, d), scaled to 0..1; a linear projection if there are few records."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    with warnings.catch_warnings():
        # With constant features, scikit-learn divides by a variance of zero.
        warnings.simplefilter("ignore", RuntimeWarning)
        wide = min(x.shape[1], len(x), 50)
        seen = PCA(wide, random_state=seed % 2**31).fit_transform(x) if wide > 2 else x
        if len(x) >= 30 and seen.shape[1] > 2 and float(np.ptp(seen, axis=0).min()) > 1e-6:
            found = TSNE(
                perplexity=min(30, len(x) // 4), random_state=seed % 2**31, init="pca"
            ).fit_transform(np.ascontiguousarray(seen, np.float32))
        else:
            found = np.pad(seen, ((0, 0), (0, max(2 - seen.shape[1], 0))))[:, :2]
    found = np.nan_to_num(np.asarray(found, np.float64))
    size = np.maximum(np.ptp(found, axis=0), 1e-12)
    scaled = (found - found.min(axis=0)) / size
    return tuple((round(float(a), 4), round(float(b), 4)) for a, b in scaled)


def shown(test: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.int64]:
    """The test records on the map."""
    rng = np.random.default_rng([seed, 0x3A9])
    return np.sort(rng.permutation(test)[:SHOWN])


def draw_map(
    original: Points,
    release: Points | None,
    attributes: Mapping[str, Attribute],
    rows: npt.NDArray[np.int64],
) -> Map:
    """The map, with the class of each record for every categorical attribute."""
    plain = {n: a for n, a in attributes.items() if not a.multilabel}
    return Map(
        original=original,
        release=release,
        labels={n: tuple(int(c) for c in a.codes[rows]) for n, a in plain.items()},
        classes={n: a.classes for n, a in plain.items()},
    )
