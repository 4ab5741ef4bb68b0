"""The power of an audit: the smallest leak that it would have found, measured by planting leaks.

A copy of the release gets one more feature per class. It is set for the records of the class among
a random share q of all records, so an attacker who reads it is right about q (1 - floor) more
records than a guess. A bisection finds the smallest q that quick attackers still surely find. A
less obvious leak must be larger to be found.
"""

from __future__ import annotations

import numpy as np

from withhold.audit.attack import Attack
from withhold.audit.attack_plan import Question
from withhold.audit.attackers import Logistic, Prior
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.intervals import share
from withhold.audit.select_attacker import Reading, choose
from withhold.audit.split import AttackParts
from withhold.records.attribute import Attribute

STEPS = 5
_TRAIN, _TEST = 4_000, 50_000
_FAR = 8.0  # the planted value, in standard deviations
_WIDEST = 32  # features shown with the planted ones
_BRISK = (Prior(), Logistic(strengths=(0.3,)))
_MOST_CLASSES = 60


def smallest_leak(question: Question, x: FloatArray, *, floor: float, seed: int) -> float | None:
    """The smallest q (1 - floor) that is found in standardised features x: (n, d).

    It is 1 - floor if not even a leak of every record is surely found. It is None for multi-label
    attributes, for many classes, and if the floor is 1.
    """
    attribute = question.attribute
    if attribute.multilabel or len(attribute.classes) > _MOST_CLASSES or floor >= 1:
        return None
    rng = np.random.default_rng([seed, 0xDE7])
    parts = AttackParts(
        rng.permutation(question.parts.train)[:_TRAIN],
        rng.permutation(question.parts.val)[: _TRAIN // 3],
        question.parts.test[:_TEST],
        question.parts.units,
    )
    few = x[:, np.sort(rng.permutation(x.shape[1])[:_WIDEST])]
    luck = rng.random(len(x))
    low, high = 0.0, 1.0  # found at high, not at low
    if not _found(few, attribute, parts, luck, 1.0, floor, seed):
        return 1 - floor
    # The noise of the test part hides anything smaller, so start the search here.
    n = max(len(parts.test), 1)
    low = min(2.5 * np.sqrt(floor * (1 - floor) / n) / (1 - floor), 0.5) / 2
    for _ in range(STEPS):
        middle = float(np.sqrt(max(low, 1e-4) * high))
        if _found(few, attribute, parts, luck, middle, floor, seed):
            high = middle
        else:
            low = middle
    return high * (1 - floor)


def _found(
    x: FloatArray,
    attribute: Attribute,
    parts: AttackParts,
    luck: np.ndarray[tuple[int], np.dtype[np.float64]],
    q: float,
    floor: float,
    seed: int,
) -> bool:
    """Whether a leak of a share q of the records is surely above the floor."""
    k = len(attribute.classes)
    planted = np.concatenate([x, np.zeros((len(x), k), np.float32)], axis=1)
    told = np.flatnonzero((luck < q) & attribute.known)
    planted[told, x.shape[1] + attribute.codes[told]] = _FAR
    used = np.unique(np.concatenate([parts.train, parts.val, parts.test]))
    here, labels = planted[used], attribute.rows(used)
    parts = parts.on(used)
    val, test = labels.rows(parts.val), labels.rows(parts.test)
    outcomes = []
    for one in _BRISK:
        if one.declines(len(parts.train), here.shape[1], k) is None:
            outcomes.append(Attack(one.name, one, here, labels, parts, seed)())
    chosen, _ = choose([Reading.of(o, val) for o in outcomes], val)
    units = None if parts.units is None else parts.units[parts.test]
    right = chosen.best.test.argmax(axis=1) == test.codes
    return bool(share(right, units)[2] > floor)
