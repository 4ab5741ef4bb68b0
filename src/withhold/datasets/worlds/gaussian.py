"""Gaussian worlds with known Bayes accuracy: no attacker can beat it, and a good one reaches it.

The attributes move x along a few random orthonormal axes, and x has unit Gaussian noise everywhere.
Labels are not drawn but dealt: in each split every class (or cell of classes) has its expected
count, to the nearest record, in random order. Given its label, each record is drawn independently.
So the accuracy of any fixed rule keeps its expectation and only loses variance. If the count does
not divide evenly, the priors change by less than one record per class and split.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class World:
    """Records, their labels, and the best possible accuracy."""

    x: npt.NDArray[np.float32]  # (n, d)
    attributes: pa.Table  # string columns, `split` (train, val, test: 60, 20, 20 %) among them
    bayes: dict[str, float]  # Bayes accuracy of each attribute given x
    axes: Array  # (k, d), orthonormal: the axes of the attributes; everything else is noise
    # the prediction of the Bayes rule for each record (n,), as an index into the sorted classes
    guess: dict[str, Labels] = field(default_factory=dict)


def two_attributes(
    n: int,
    d: int,
    *,
    separation_suppress: float,
    separation_preserve: float,
    correlation: float = 0.0,
    seed: int = 0,
) -> World:
    """Binary `secret` and `useful`, each ±separation along its own axis.

    With labels S, U in ±1 and P(S = U) = (1 + correlation) / 2, x = s S a_1 + u U a_2 + N(0, I).
    Independent labels give accuracies Φ(s) and Φ(u); see `paired_accuracy` for correlated ones.
    """
    check_size(n, d, least=2)
    check_separation(separation_suppress)
    check_separation(separation_preserve)
    if not -1 <= correlation <= 1:
        raise UserError(f"correlation must be in -1..1, not {correlation}")
    rng = np.random.default_rng(seed)
    cells = np.array([1 + correlation, 1 - correlation, 1 - correlation, 1 + correlation]) / 4
    cell, split = deal(n, cells, rng)
    secret, useful = cell // 2, cell % 2
    s, u = separation_suppress, separation_preserve
    means = np.stack([s * (2 * secret - 1), u * (2 * useful - 1)], axis=1)
    return _world(
        means,
        d,
        {"secret": secret, "useful": useful},
        split,
        {
            "secret": paired_accuracy(s, u, correlation),
            "useful": paired_accuracy(u, s, correlation),
        },
        rng,
    )


def paired_accuracy(own: float, other: float, correlation: float) -> float:
    """Bayes accuracy of S from x_1 = own S + e_1 and x_2 = other U + e_2, S and U correlated.

    With p, q = (1 ± correlation) / 2 the second coordinate adds the log odds

        g(t) = log[(p e^{ut} + q e^{-ut}) / (q e^{ut} + p e^{-ut})],      u = other,

    and the rule S = sign(2 own x_1 + g(x_2)) is right, by symmetry for either S, with probability

        ∫ [p φ(t - u) + q φ(t + u)] Φ(own + g(t) / (2 own)) dt,

    an integral in one dimension, computed to 1e-10. correlation 0 gives Φ(own), ±1 gives
    Φ(√(own² + other²)), and own = 0 gives 1/2 + |correlation| (Φ(other) - 1/2).
    """
    p, q = (1 + correlation) / 2, (1 - correlation) / 2
    if own == 0:
        return 0.5 + abs(correlation) * (below(other) - 0.5)
    if correlation == 0:
        return below(own)
    if q == 0 or p == 0:
        return below(math.hypot(own, other))

    def right(t: float) -> float:
        swap = math.exp(-2 * other * abs(t))  # g is odd; this form cannot overflow
        odds = math.log((p + q * swap) / (q + p * swap)) * math.copysign(1, t)
        density = p * _density(t - other) + q * _density(t + other)
        return density * below(own + odds / (2 * own))

    return _integral(right, -other - 10, other + 10, points=[-other, 0.0, other])


def many_classes(n: int, d: int, classes: int, *, separation: float, seed: int = 0) -> World:
    """One attribute `label`, class c with mean separation · a_c.

    Covariances and priors are equal, so the Bayes rule is the largest of the k coordinates. The
    true one is t with density φ(t - s), and each other one is below it with probability Φ(t):
    accuracy = ∫ φ(t - s) Φ(t)^{k-1} dt. Two classes give Φ(s / √2).
    """
    _check_classes(n, d, classes)
    check_separation(separation)
    rng = np.random.default_rng(seed)
    label, split = deal(n, np.full(classes, 1 / classes), rng)

    def right(t: float) -> float:
        return _density(t - separation) * below(t) ** (classes - 1)

    accuracy = _integral(right, separation - 10, separation + 10, points=[separation])
    means = separation * np.eye(classes)[label]
    return _world(means, d, {"label": label}, split, {"label": accuracy}, rng)


def no_leak(n: int, d: int, classes: int, seed: int = 0) -> World:
    """The 0 % control: `label` is independent of x. The majority class is the best guess."""
    _check_classes(n, d, classes)
    rng = np.random.default_rng(seed)
    label, split = deal(n, np.full(classes, 1 / classes), rng)
    largest = float(np.bincount(label).max() / n)
    return _world(np.zeros((n, classes)), d, {"label": label}, split, {"label": largest}, rng)


def full_leak(n: int, d: int, classes: int, seed: int = 0) -> World:
    """The 100 % control: the largest coordinate along the axes is `label`, with a margin of 2.

    Along the axes the noise is uniform in ±1 about means 4 a_c. With Gaussian noise every label
    would stay possible, and the Bayes accuracy would only be close to 1.
    """
    _check_classes(n, d, classes)
    rng = np.random.default_rng(seed)
    label, split = deal(n, np.full(classes, 1 / classes), rng)
    noise = rng.standard_normal((n, d))
    noise[:, :classes] = rng.uniform(-1, 1, (n, classes))
    means = 4.0 * np.eye(classes)[label]
    return _world(means, d, {"label": label}, split, {"label": 1.0}, rng, noise=noise)


def xor(n: int, d: int, *, separation: float, seed: int = 0) -> World:
    """`label` is whether the signs along two axes differ; no linear probe sees anything.

    x = s A a_1 + s B a_2 + N(0, I) with A, B in ±1 and label = [A ≠ B]. The log odds are
    log cosh s(x_1 - x_2) - log cosh s(x_1 + x_2), so the Bayes rule is x_1 x_2 < 0. It is right if
    both signs are read correctly or both wrongly: Φ(s)² + (1 - Φ(s))².
    """
    check_size(n, d, least=2)
    check_separation(separation)
    rng = np.random.default_rng(seed)
    cell, split = deal(n, np.full(4, 0.25), rng)
    first, second = cell // 2, cell % 2
    means = separation * np.stack([2.0 * first - 1, 2.0 * second - 1], axis=1)
    sure = below(separation)
    bayes = {"label": sure**2 + (1 - sure) ** 2}
    return _world(means, d, {"label": first ^ second}, split, bayes, rng)


def _density(t: float) -> float:
    """φ(t)."""
    return math.exp(-t * t / 2) / math.sqrt(2 * math.pi)


def below(t: float) -> float:
    """Φ(t)."""
    return math.erfc(-t / math.sqrt(2)) / 2


def _integral(
    function: Callable[[float], float], low: float, high: float, *, points: list[float]
) -> float:
    """Adaptive quadrature with break points."""
    from scipy.integrate import quad  # half a second to import, and rarely needed

    return float(quad(function, low, high, points=points, epsabs=1e-10, limit=400)[0])


def deal(n: int, shares: Array, rng: np.random.Generator) -> tuple[Labels, list[str]]:
    """The class and the split of each record, in random order, with expected counts per split.

    Classes are dealt within each split. Otherwise classes that are rare in train would be common in
    test, and a probe that learns nothing would score below chance.
    """
    train, val = round(0.6 * n), round(0.2 * n)
    edges = np.rint(np.cumsum(shares)[:-1, None] * [train, val, n - train - val]).astype(np.int64)
    label = np.concatenate(
        [
            np.searchsorted(edges[:, part], np.arange(count), side="right")
            for part, count in enumerate((train, val, n - train - val))
        ]
    )
    split = np.repeat(["train", "val", "test"], [train, val, n - train - val])
    order = rng.permutation(n)
    return label[order].astype(np.int64), split[order].tolist()


def rotation(d: int, rng: np.random.Generator) -> Array:
    """Orthonormal columns (d, d), drawn uniformly."""
    basis, upper = np.linalg.qr(rng.standard_normal((d, d)))
    turned: Array = basis * np.sign(np.diag(upper))  # otherwise QR is not uniform
    return turned


def _world(
    means: Array,
    d: int,
    labels: dict[str, Labels],
    split: list[str],
    bayes: dict[str, float],
    rng: np.random.Generator,
    *,
    noise: Array | None = None,
) -> World:
    """Noise about means (n, k) on the first k axes, turned by a random rotation of all d."""
    n, k = means.shape
    x = rng.standard_normal((n, d)) if noise is None else noise.copy()
    x[:, :k] += means
    basis = rotation(d, rng)
    columns = {name: [str(value) for value in label] for name, label in labels.items()}
    table = pa.table({**columns, "split": split})
    return World((x @ basis.T).astype(np.float32), table, bayes, basis[:, :k].T)


def check_size(n: int, d: int, *, least: int) -> None:
    """Refuse fewer than ten records, and fewer dimensions than the world has axes."""
    if n < 10:
        raise UserError(f"n must be at least 10 records, not {n}")
    if d < least:
        raise UserError(f"d must be at least {least} here, one dimension per axis, not {d}")


def _check_classes(n: int, d: int, classes: int) -> None:
    if classes < 2:
        raise UserError(f"classes must be at least 2, not {classes}")
    check_size(n, d, least=classes)
    if round(0.2 * n) < classes:
        raise UserError(
            f"n = {n} is too few for {classes} classes in every split; give 5 or more per class"
        )


def check_separation(separation: float) -> None:
    """Refuse a separation that is negative or not finite."""
    if not 0 <= separation < np.inf:
        raise UserError(f"a separation must be finite and not negative, not {separation}")
