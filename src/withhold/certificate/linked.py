"""Several records of one class: what an attacker who may put r codes together can read at most.

With P_s the codes' distribution in class s, pi_s its share, Q = sum_s pi_s P_s, and r codes drawn
independently from one class,

    B_r = sum_{j_1..j_r} max_s pi_s P_s^r <= max_s pi_s + sum_s pi_s TV(P_s^r, Q^r),

as pi_s P_s^r <= pi_s Q^r + pi_s (P_s^r - Q^r)_+, and the positive part sums to TV. A product's TV
is at most r TV(P_s, Q), sqrt(r KL(P_s, Q) / 2) (Pinsker), and sqrt(1 - exp(-r KL(P_s, Q)))
(Bretagnolle and Huber). All of them grow with r faster than the truth does.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import numpy.typing as npt

from withhold.certificate.bound import Table, surprise

SIZES = (5, 20, 50)


def linked_plug_in(table: Table, r: int) -> float:
    """max pi + sum_s pi_s min(1, r TV, sqrt(r KL / 2), sqrt(1 - e^(-r KL))) of the sample."""
    prior, inside, mean = _distributions(table)
    tv = np.abs(inside - mean).sum(axis=1) / 2
    # Q >= pi_s P_s, so a code that the class uses is one that the mean uses.
    ratio = np.divide(inside, mean, out=np.ones_like(inside), where=inside > 0)
    kl = np.maximum((inside * np.log(ratio)).sum(axis=1), 0)
    smallest = np.minimum.reduce(
        [np.ones_like(tv), r * tv, np.sqrt(r * kl / 2), np.sqrt(-np.expm1(-r * kl))]
    )
    return float(min(prior.max() + (prior * smallest).sum(), 1.0))


def linked_bound(table: Table, units: int, r: int, confidence: float) -> float:
    """An upper confidence bound on F = max pi + r T, hence on B_r; at most 1.

    T = sum_s pi_s TV(P_s, Q) = 1/2 sum_sj |p_sj - pi_s q_j|, with plug-in T^. A product of two
    means is not convex, but of m independent units E[pi^_s q^_j] = p_sj / m + (1 - 1/m) pi_s q_j,
    so E[p^ - pi^ q^] = (1 - 1/m)(p - pi q), and by Jensen for |.| E T^ >= (1 - 1/m) T. As
    E max pi^ >= max pi too, F^ = max pi^ + r m/(m-1) T^ has E F^ >= F.

    One unit moves p^, pi^ and q^ by at most 2/m each in L1, and pi^ q^ by at most 4/m, so T^ by at
    most 3/m and max pi^ by at most 1/m. McDiarmid: with confidence 1 - delta,
    F <= F^ + (1 + 3 r m/(m-1)) sqrt(ln(1/delta) / 2m).
    """
    if units < 2:
        return 1.0
    grown = r * units / (units - 1)
    slack = (1 + 3 * grown) * sqrt(surprise(confidence) / (2 * units))
    share = table.sum(axis=1) / units
    return float(min(share.max() + grown * dependence(table) + slack, 1.0))


def dependence(table: Table) -> float:
    """T^ = sum_s pi_s TV(P_s, Q): how far codes and classes are from independent, in 0..1."""
    prior, inside, mean = _distributions(table)
    return float((prior * np.abs(inside - mean).sum(axis=1)).sum() / 2)


def _distributions(
    table: Table,
) -> tuple[npt.NDArray[np.float64], Table, npt.NDArray[np.float64]]:
    """pi: (k,), P: (k, N) and Q: (N,), of the classes that occur."""
    table = table[table.sum(axis=1) > 0]
    counts = table.sum(axis=1)
    return counts / counts.sum(), table / counts[:, None], table.sum(axis=0) / counts.sum()
