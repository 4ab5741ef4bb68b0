"""Small images whose class is known, and how much of it a reader of one kind can see."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.records.dataset import Dataset

Pixels = npt.NDArray[np.uint8]
PARTS = np.array(["train", "train", "train", "val", "test"])


def bars(n: int, side: int = 16, seed: int = 0) -> tuple[Pixels, npt.NDArray[np.int64]]:
    """A bar at a random place; the class is its direction. Images (n, side, side, 3) and classes.

    Each pixel is as often bright in both classes, up to the border, so a linear reader is at
    chance.
    """
    rng = np.random.default_rng([seed, 0xBA2])
    images = rng.integers(90, 110, (n, side, side, 3), dtype=np.uint8)
    upright = rng.integers(0, 2, n)
    for image, up in zip(images, upright, strict=True):
        # On a torus, a place is covered equally often by bars of both directions.
        row, column = rng.integers(0, side, 2)
        long, short = (row + np.arange(7)) % side, (column + np.arange(2)) % side
        if up:
            image[np.ix_(long, short)] = 220
        else:
            image[np.ix_(short, long)] = 220
    return images, upright


def parts(n: int) -> list[str]:
    """Three fifths train, a fifth val, a fifth test, by turns of ten."""
    return PARTS[np.arange(n) // 10 % 5].tolist()


def channels_first(images: Pixels) -> Pixels:
    """(n, side, side, 3) to (n, 3, side, side)."""
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2))


def labelled(classes: npt.ArrayLike, n: int) -> Dataset:
    """The labels of n records, as attribute `label`, with their parts."""
    return Dataset.of_labels({"label": np.asarray(classes), "split": parts(n)}, n)
