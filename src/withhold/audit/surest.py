"""The worst slice: a few records that attackers read while they cannot read the others.

There are two searches, both on predictions of cross-fitted attackers for records they never saw:
the records of which an attacker is surest, and the leaves of a shallow tree, grown on one half of
the records and measured on the other. All slices share the confidence of one test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.cross import Said
from withhold.audit.findings import SliceRead
from withhold.audit.intervals import exact_least, share, shared
from withhold.records.attribute import Attribute

SHARES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25)
_FEWEST = 15  # fewest records of a slice
_LEAVES = 8
Mask = npt.NDArray[np.bool_]


def worst_slice(
    said: Mapping[str, Said],
    attribute: Attribute,
    x: FloatArray,
    names: Sequence[str],
    *,
    without: Mask | None,
    floor: float,
    units: npt.NDArray[np.int64] | None,
    seed: int,
) -> SliceRead | None:
    """The slice that is read most surely above its floor; None if there are too few records.

    `without` says for each row whether a guess from the preserved labels is right. The floor of a
    slice is the accuracy of that guess in the slice, or `floor` if that is higher.
    """
    best = said["best"]
    if attribute.multilabel or len(best.rows) < 2 * _FEWEST:
        return None
    truth = attribute.codes[best.rows]
    right = {n: one.log_p.argmax(axis=1) == truth for n, one in said.items()}
    slices = [
        (name, piece)
        for name, one in said.items()
        if name not in ("best", "prior")
        for piece in _by_confidence(one, seed)
    ]
    slices += [("best", p) for p in _by_tree(right["best"], x[best.rows], names, seed)]
    level = shared(len(slices))
    found = []
    for name, (by, value, rows) in slices:
        people = None if units is None else units[best.rows[rows]]
        accuracy, ci, least = share(right[name][rows], people, level=level)
        found.append(
            SliceRead(
                records=len(rows),
                accuracy=accuracy,
                ci=ci,
                least=min(least, exact_least(int(right[name][rows].sum()), len(rows), level)),
                floor=floor if without is None else max(floor, float(without[rows].mean())),
                attacker=said[name].by,
                by=by,
                value=value,
                share=len(rows) / len(best.rows),
            )
        )
    return max(found, key=lambda s: (s.sure, (s.least - s.floor) * s.records), default=None)


def _by_confidence(said: Said, seed: int) -> list[tuple[str, str, npt.NDArray[np.int64]]]:
    top = np.sort(said.log_p, axis=1)
    margin = top[:, -1] - top[:, -2]
    # Break ties at random: the order of the rows must not decide which records are in a slice.
    order = np.lexsort((np.random.default_rng([seed, 0x7135]).random(len(margin)), -margin))
    sizes = {q: round(q * len(order)) for q in SHARES}
    return [
        ("confidence", f"the {100 * q:g} % of records of which the attacker is surest", order[:m])
        for q, m in sizes.items()
        if m >= _FEWEST
    ]


def _by_tree(
    right: Mask, x: FloatArray, names: Sequence[str], seed: int
) -> list[tuple[str, str, npt.NDArray[np.int64]]]:
    """The leaves of a tree, fitted on one half, that predicts where the attackers are right."""
    from sklearn.tree import DecisionTreeClassifier

    half = np.random.default_rng([seed, 0x51CE]).permutation(len(right)) % 2 == 0
    if len(np.unique(right[half])) < 2 or x.shape[1] > 2048:
        return []
    fewest = max(_FEWEST, len(right) // 200)
    tree = DecisionTreeClassifier(
        max_leaf_nodes=_LEAVES, min_samples_leaf=fewest, random_state=seed % 2**31
    )
    tree.fit(x[half], right[half])
    rest = np.flatnonzero(~half)
    leaf = tree.apply(x[rest])
    rules = _rules(tree, names)
    return [
        ("features", rules[one], rest[leaf == one])
        for one in np.unique(leaf)
        if (leaf == one).sum() >= _FEWEST
    ]


def _rules(tree: object, names: Sequence[str]) -> dict[int, str]:
    """The path to each leaf, in words."""
    t = tree.tree_  # type: ignore[attr-defined]
    found: dict[int, str] = {}

    def walk(node: int, path: list[str]) -> None:
        if t.children_left[node] < 0:
            found[node] = "records with " + " and ".join(path) if path else "all records"
            return
        name, at = names[t.feature[node]], t.threshold[node]
        walk(int(t.children_left[node]), [*path, f"{name} <= {at:.4g}"])
        walk(int(t.children_right[node]), [*path, f"{name} > {at:.4g}"])

    walk(0, [])
    return found
