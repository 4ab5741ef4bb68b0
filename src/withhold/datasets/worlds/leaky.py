"""Releases with one planted leak each, with their originals, for an audit of a file to find.

In each release the features look like noise to a usual attacker. The Bayes accuracy is known: how
often the best attacker with the whole file is right about the records that leak. A share `flip` of
what leaks is wrong, so that no accuracy is 1 by accident.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.datasets.worlds.gaussian import Array, Labels, below, check_size, deal

LEAKY: dict[str, Callable[..., LeakyRelease]] = {}
_FLIP = 0.05


@dataclass(frozen=True)
class LeakyRelease:
    """An original (x, `label` and `split`) and its release, row by row."""

    original: npt.NDArray[np.float32]  # (n, d)
    attributes: pa.Table  # `label`, `split`
    release: Array  # (n, d) float64; float32 values unless the leak is below float32
    columns: pa.Table | None  # released beside the features
    bayes: float
    found_by: str  # the tier of an audit that should find it


def _leaky(make: Callable[..., LeakyRelease]) -> Callable[..., LeakyRelease]:
    LEAKY[make.__name__] = make
    return make


@_leaky
def sorted_rows(n: int = 4000, *, d: int = 16, flip: float = _FLIP, seed: int = 0) -> LeakyRelease:
    """Rows are sorted by the label, so the position in the file reveals it, except for `flip`."""
    rng, label, split = _dealt(n, d, seed)
    shown = label ^ (rng.random(n) < flip)
    rows = np.argsort(shown, kind="stable")
    label, split = label[rows], [split[i] for i in rows]
    return _release(label, split, _noise(rng, n, d), None, 1 - flip, "column", rng)


@_leaky
def extra_column(n: int = 4000, *, d: int = 16, flip: float = 0.2, seed: int = 0) -> LeakyRelease:
    """A column `device` reveals the label, except for `flip`."""
    rng, label, split = _dealt(n, d, seed)
    device = np.where(rng.random(n) < flip, 1 - label, label)
    columns = pa.table({"device": [f"model {7 + 3 * v}" for v in device.tolist()]})
    return _release(label, split, _noise(rng, n, d), columns, 1 - flip, "column", rng)


@_leaky
def renamed_copy(n: int = 4000, *, d: int = 16, seed: int = 0) -> LeakyRelease:
    """A column of numbers equals the label under another name."""
    rng, label, split = _dealt(n, d, seed)
    columns = pa.table({"q7": (4.5 - 3.25 * label).tolist()})
    return _release(label, split, _noise(rng, n, d), columns, 1.0, "column", rng)


@_leaky
def xor_of_columns(
    n: int = 4000, *, d: int = 16, others: int = 10, flip: float = _FLIP, seed: int = 0
) -> LeakyRelease:
    """Two columns that reveal nothing alone are equal if the label is 0, except for `flip`.

    They are the last of `others` random binary columns.
    """
    rng, label, split = _dealt(n, d, seed)
    shown = label ^ (rng.random(n) < flip)
    first = rng.integers(2, size=n)
    coins = {f"c{i}": rng.integers(3, size=n).tolist() for i in range(others)}
    columns = pa.table(coins | {"left": first.tolist(), "right": (first ^ shown).tolist()})
    return _release(label, split, _noise(rng, n, d), columns, 1 - flip, "column", rng)


@_leaky
def below_float32(
    n: int = 4000, *, d: int = 16, flip: float = _FLIP, seed: int = 0
) -> LeakyRelease:
    """The float64 remainder of one feature reveals the label: a quarter of the last float32 bit."""
    rng, label, split = _dealt(n, d, seed)
    x = _noise(rng, n, d)
    shown = label ^ (rng.random(n) < flip)
    x[:, 2] += 0.25 * np.spacing(np.abs(x[:, 2]).astype(np.float32)) * (2 * shown - 1)
    return _release(label, split, x, None, 1 - flip, "column", rng)


@_leaky
def untouched_train(
    n: int = 4000, *, d: int = 16, separation: float = 2.0, seed: int = 0
) -> LeakyRelease:
    """Train and val rows are released unchanged, x = s L a + N(0, I); test rows are noise."""
    rng, label, split = _dealt(n, d, seed)
    original = _original(label, d, separation, rng)
    test = np.array(split) == "test"
    x = np.where(test[:, None], _noise(rng, n, d), original)
    table = _attributes(label, split)
    return LeakyRelease(original, table, x, None, below(separation), "all_rows")


@_leaky
def mantissa_bit(n: int = 4000, *, d: int = 16, flip: float = _FLIP, seed: int = 0) -> LeakyRelease:
    """The last bit of one float32 feature reveals the label, except for `flip`."""
    rng, label, split = _dealt(n, d, seed)
    x = _noise(rng, n, d).astype(np.float32)
    shown = (label ^ (rng.random(n) < flip)).astype(np.uint32)
    words = x.view(np.uint32)
    words[:, 5] = (words[:, 5] & ~np.uint32(1)) | shown
    return _release(label, split, x.astype(np.float64), None, 1 - flip, "informed", rng)


@_leaky
def sawtooth(
    n: int = 4000, *, d: int = 16, periods: int = 400, flip: float = _FLIP, seed: int = 0
) -> LeakyRelease:
    """The label is the half of a period in which a uniform feature lies, of many periods."""
    rng, label, split = _dealt(n, d, seed)
    x = _noise(rng, n, d)
    shown = label ^ (rng.random(n) < flip)
    turns = rng.integers(periods, size=n) + 0.5 * shown + 0.5 * rng.random(n)
    x[:, 1] = np.sqrt(3) * (2 * turns / periods - 1)
    return _release(label, split, x, None, 1 - flip, "informed", rng)


@_leaky
def parity_of_five(
    n: int = 4000, *, d: int = 16, flip: float = _FLIP, seed: int = 0
) -> LeakyRelease:
    """The label is the parity of the signs of five features; any four reveal nothing."""
    rng, label, split = _dealt(n, d, seed)
    x = _noise(rng, n, d)
    shown = label ^ (rng.random(n) < flip)
    x[:, 4] = np.abs(x[:, 4]) * np.sign(x[:, :4]).prod(axis=1) * (2 * shown - 1)
    return _release(label, split, x, None, 1 - flip, "informed", rng)


@_leaky
def one_percent(n: int = 4000, *, d: int = 16, share: float = 0.01, seed: int = 0) -> LeakyRelease:
    """A share of the records, extreme in one feature, shows the label in another; the rest do not.

    The Bayes accuracy is over all records: 1/2 + share/2.
    """
    rng, label, split = _dealt(n, d, seed)
    x = _noise(rng, n, d)
    inside = rng.permutation(n) < round(share * n)
    x[inside, 3] = 5 + 0.2 * np.abs(x[inside, 3])
    x[inside, 0] = (2 * label[inside] - 1) * (1 + np.abs(x[inside, 0]))
    return _release(label, split, x, None, 0.5 + share / 2, "subgroup", rng)


@_leaky
def one_percent_turned(
    n: int = 4000, *, d: int = 16, share: float = 0.01, seed: int = 0
) -> LeakyRelease:
    """The same on random axes and less extreme: the search for slices does not find it."""
    made = one_percent(n, d=d, share=share, seed=seed)
    rng = np.random.default_rng([seed, 1])
    x = made.release.copy()
    x[:, 3] = np.minimum(x[:, 3], 3.0)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    x = (x @ basis).astype(np.float32).astype(np.float64)
    return LeakyRelease(made.original, made.attributes, x, None, made.bayes, "subgroup")


def harmless(n: int = 1000, *, d: int = 8, seed: int = 0) -> LeakyRelease:
    """No leak: noise, and columns that are independent of the label."""
    rng, label, split = _dealt(n, d, seed)
    columns = pa.table(
        {
            "age": rng.integers(18, 90, n).tolist(),
            "height": rng.normal(170, 10, n).tolist(),
            "city": [f"city {v}" for v in rng.integers(0, 40, n).tolist()],
            "member": (rng.random(n) < 0.3).tolist(),
            "comment": [f"{a:x} {b}" for a, b in rng.integers(0, 10**6, (n, 2)).tolist()],
            "seen": pa.array((rng.integers(0, 10**9, n)).tolist(), pa.timestamp("s")),
        }
    )
    return _release(label, split, _noise(rng, n, d), columns, 0.5, "", rng)


def _dealt(n: int, d: int, seed: int) -> tuple[np.random.Generator, Labels, list[str]]:
    check_size(n, d, least=6)
    rng = np.random.default_rng(seed)
    label, split = deal(n, np.full(2, 0.5), rng)
    return rng, label, split


def _noise(rng: np.random.Generator, n: int, d: int) -> Array:
    """N(0, 1), rounded to float32."""
    return rng.standard_normal((n, d)).astype(np.float32).astype(np.float64)


def _original(
    label: Labels, d: int, separation: float, rng: np.random.Generator
) -> npt.NDArray[np.float32]:
    x = rng.standard_normal((len(label), d))
    x[:, 0] += separation * (2 * label - 1)
    return x.astype(np.float32)


def _attributes(label: Labels, split: list[str]) -> pa.Table:
    return pa.table({"label": [str(v) for v in label.tolist()], "split": split})


def _release(
    label: Labels,
    split: list[str],
    x: Array,
    columns: pa.Table | None,
    bayes: float,
    found_by: str,
    rng: np.random.Generator,
) -> LeakyRelease:
    original = _original(label, x.shape[1], 2.0, rng)
    return LeakyRelease(original, _attributes(label, split), x, columns, bayes, found_by)
