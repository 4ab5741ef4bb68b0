"""What is possible, before any training: entropies, mutual information, floors, ceilings.

For a release X' of data with suppressed S and useful U: I(X';U) <= I(X';S) + H(U|S). If S
determines U (a speaker has one gender), hiding S perfectly leaves of U only what the prior of S
says. Preserving U reveals at least what U says about S: the floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError
from withhold.records.attribute import Attribute
from withhold.records.combined import combined
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class AttributePair:
    """Two attributes, and how many bits they share."""

    one: str
    two: str
    shared_bits: float
    two_given_one: float


@dataclass(frozen=True)
class Feasibility:
    """Entropies, floors and ceilings for one choice of roles."""

    entropy: dict[str, float]
    pairs: tuple[AttributePair, ...]
    majority: dict[str, float]
    floor: dict[str, float]
    ceiling: dict[str, float]
    warnings: tuple[str, ...]
    impossible: tuple[str, ...] = ()

    def require(self) -> None:
        """Refuse roles that no method can satisfy."""
        if self.impossible:
            raise UserError(self.impossible[0])


def feasibility(dataset: Dataset, roles: Roles) -> Feasibility:
    """Floors of suppressed attributes, ceilings of preserved ones, and conflicts between roles."""
    attributes = {n: a for n, a in dataset.labels().items() if not a.multilabel}
    suppress = [attributes[n] for n in roles.suppress if n in attributes]
    preserve = [attributes[n] for n in roles.preserve if n in attributes]
    names = list(attributes)
    pairs = tuple(
        AttributePair(
            a,
            b,
            mutual_information(attributes[a], attributes[b]),
            conditional_entropy(attributes[b], attributes[a]),
        )
        for i, a in enumerate(names)
        for b in names[i + 1 :]
    )
    floor = {s.name: guess_rate(s, preserve) for s in suppress}
    ceiling = {p.name: _ceiling(p, suppress) for p in preserve}
    warnings, impossible = [], []
    for s in suppress:
        if entropy(s) > 0 and floor[s.name] == 1.0 and roles.preserve:
            impossible.append(
                f"preserving {_and(roles.preserve)} reveals '{s.name}' for every record: nothing"
                f" can hide it; remove what reveals '{s.name}' from --preserve"
            )
        if floor[s.name] > s.majority + 0.005:
            warnings.append(
                f"preserving {_and(roles.preserve)} lets anyone guess '{s.name}' right in"
                f" {100 * floor[s.name]:.1f} % (majority {100 * s.majority:.1f} %):"
                " no method can go below that floor"
            )
    for p in preserve:
        for s in suppress:
            if entropy(p) > 0 and conditional_entropy(p, s) < 0.01 * entropy(p):
                warnings.append(
                    f"'{s.name}' determines '{p.name}': anyone who reads '{p.name}' learns"
                    f" {mutual_information(s, p):.2f} bits of '{s.name}', so the two roles conflict"
                )
    return Feasibility(
        {n: entropy(a) for n, a in attributes.items()},
        pairs,
        {n: a.majority for n, a in attributes.items()},
        floor,
        ceiling,
        tuple(warnings),
        tuple(impossible),
    )


def entropy(attribute: Attribute) -> float:
    """H(A) in bits, over labelled records."""
    return _bits(attribute.counts)


def mutual_information(a: Attribute, b: Attribute) -> float:
    """I(A;B) in bits, over records that have both labels."""
    pairs, one, two = _counts(a.codes, b.codes)
    return max(_bits(one) + _bits(two) - _bits(pairs), 0.0)


def conditional_entropy(a: Attribute, given: Attribute) -> float:
    """H(A | given) in bits."""
    pairs, one, _ = _counts(given.codes, a.codes)
    return max(_bits(pairs) - _bits(one), 0.0)


def guess_rate(target: Attribute, given: Sequence[Attribute]) -> float:
    """Accuracy of the best guess of `target` from the labels `given` alone: sum max P(t, g)."""
    if not given:
        return target.majority
    code = joint(given)
    both = (code >= 0) & (target.codes >= 0)
    classes = len(target.classes)
    cell, count = np.unique(code[both] * classes + target.codes[both], return_counts=True)
    if not len(cell):
        return 0.0
    starts = np.flatnonzero(np.diff(cell // classes, prepend=-1))
    return float(np.maximum.reduceat(count, starts).sum() / count.sum())


def joint(attributes: Sequence[Attribute]) -> IntArray:
    """One code for the combination of several attributes; -1 if any is missing."""
    stacked = np.column_stack([a.codes for a in attributes])  # a multi-label one has several
    known = (stacked >= 0).all(axis=1)
    codes = np.full(len(stacked), -1, np.int64)
    if known.any():
        codes[known] = combined(stacked[known])
    return codes


def _counts(a: IntArray, b: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Counts of the pairs that occur, and of each code in them. A table of all pairs of 40,000
    customers and 40,000 postcodes would not fit in memory."""
    both = (a >= 0) & (b >= 0)
    a, b = a[both], b[both]
    pairs = np.unique(a * (int(b.max(initial=0)) + 1) + b, return_counts=True)[1]
    return pairs, np.bincount(a, minlength=1), np.bincount(b, minlength=1)


def contingency(a: IntArray, b: IntArray) -> npt.NDArray[np.int64]:
    """Counts of the pairs of two codes, without missing ones: (max a + 1, max b + 1)."""
    both = (a >= 0) & (b >= 0)
    rows, columns = int(a.max(initial=0)) + 1, int(b.max(initial=0)) + 1
    flat = np.bincount(a[both] * columns + b[both], minlength=rows * columns)
    return flat.reshape(rows, columns)


def _ceiling(target: Attribute, suppressed: Sequence[Attribute]) -> float:
    """The best accuracy on `target` that any release independent of the suppressed allows.

    Such a release can be reduced to its guess, drawn from one distribution q whatever S is. So
    the ceiling is max over q of sum_s P(s) sum_u min(q_u, P(u|s)). This is a sum of concave
    piecewise linear functions of the q_u; taking their steepest pieces first is optimal.
    """
    if not suppressed:
        return 1.0
    table = contingency(joint(suppressed), target.codes)
    table = table[table.sum(axis=1) > 0]
    weight = table.sum(axis=1) / table.sum()
    inside = table / table.sum(axis=1, keepdims=True)  # P(u | s)
    order = inside.argsort(axis=0)
    heights = np.take_along_axis(inside, order, axis=0)
    lengths = np.diff(heights, axis=0, prepend=0).T.reshape(-1)
    behind = np.cumsum(weight[order], axis=0) - weight[order]
    slopes = (1 - behind).T.reshape(-1)
    steepest = np.argsort(-slopes, kind="stable")
    used = np.clip(1 - (np.cumsum(lengths[steepest]) - lengths[steepest]), 0, lengths[steepest])
    return float(min((used * slopes[steepest]).sum(), 1.0))


def _bits(counts: npt.NDArray[np.int64]) -> float:
    p = counts[counts > 0] / max(counts.sum(), 1)
    return float(-(p * np.log2(p)).sum()) if len(p) else 0.0


def _and(names: Sequence[str]) -> str:
    quoted = [f"'{n}'" for n in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]
