"""Attacks on the rows of one release, by someone who knows the table of classes by codes.

The claims are exact, and the attacks are repeated at random, so their mean is as often above the
truth as below. An attack counts as better than its claim only if its mean exceeds the claim by more
than chance allows: `at_least` is a lower limit of one-sided confidence, with the chance of a false
alarm divided by the number of comparisons in the whole bench (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from withhold.certificate.claims import ReleaseClaim
from withhold.certificate.linked_bound import linked_rate

IntArray = npt.NDArray[np.int64]
SETS = 60  # random sets of labelled rows of an elimination attack
_FALSE_ALARM = 1e-3  # chance of one in the whole bench
_COMPARISONS = 50_000  # at most


class Judged(NamedTuple):
    """A claim, its bound, and what is true of it; `least` is below the truth, beyond chance."""

    claim: str
    bound: float
    truth: float
    least: float


def exactly(claim: str, bound: float, truth: float) -> Judged:
    """A claim whose truth was computed."""
    return Judged(claim, bound, truth, truth)


def by_attack(claim: str, bound: float, rates: npt.NDArray[np.float64], *, records: int) -> Judged:
    """A claim whose attack was repeated at random: its rates (M,), each a mean over records."""
    return Judged(claim, bound, float(rates.mean()), at_least(rates, step=1 / records))


def at_least(values: npt.NDArray[np.float64], *, step: float) -> float:
    """A lower limit on the mean of independent numbers (M,), which differ by steps.

    Student's t, less what draws may do that never happened: if they have a chance q, none is seen
    with a chance of (1 - q)^M, so that q is at most log(1 / alarm) / M. Each takes one step.
    Without this, equal numbers would count as certain.
    """
    m, alarm = len(values), _FALSE_ALARM / _COMPARISONS
    far = float(student.isf(alarm, m - 1))
    unseen = min(-np.log(alarm) / m, 1.0) * step
    return float(values.mean() - far * values.std(ddof=1) / np.sqrt(m) - unseen)


def given_claims(
    table: IntArray, claim: ReleaseClaim, rng: np.random.Generator, *, shares: Sequence[str]
) -> Iterator[Judged]:
    """Each claim about the drawn rows beside its attack; table: classes by codes (K, N)."""
    n = int(table.sum())
    yield exactly("given: one record", claim.one, float(table.max(axis=0).sum() / n))
    for share in shares:
        known = round(float(share) * n)
        rates = np.array([_eliminate(table, known, rng) for _ in range(SETS)])
        named = "half" if share == "0.5" else f"{100 * float(share):.0f} %"
        stated = claim.known[share]
        yield by_attack(
            f"given: {named} of the labels known", stated, rates, records=max(n - known, 1)
        )
    linked = linked_rate(table.astype(np.float64), 20, seed=int(rng.integers(2**31)))
    far = float(student.isf(_FALSE_ALARM / _COMPARISONS, max(linked.draws - 1, 1)))
    least = linked.mean - far * linked.deviation / np.sqrt(max(linked.draws, 1))
    yield Judged("given: 20 records of one class", claim.linked["20"], linked.mean, float(least))


def _eliminate(table: IntArray, known: int, rng: np.random.Generator) -> float:
    """Guess the class with most rows left at each code, so many labels being known."""
    left = rng.multivariate_hypergeometric(table.reshape(-1), int(table.sum()) - known)
    return float(left.reshape(table.shape).max(axis=0).sum() / max(left.sum(), 1))
