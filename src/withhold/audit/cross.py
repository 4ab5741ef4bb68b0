"""Cross-fitting: attack all released records, each with attackers that never saw it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.audit.attack import Attack, Outcome
from withhold.audit.attackers import Attacker, Logistic, Nearest, Prior, Trees
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.select_attacker import Reading, choose
from withhold.audit.split import AttackParts, Rows
from withhold.records.attribute import Attribute
from withhold.records.feasibility import contingency, joint

FOLDS = 3
BRISK: tuple[Attacker, ...] = (
    Prior(),
    Logistic(strengths=(0.3,)),
    Nearest(),
    Trees(rounds=40, patience=4, budget=3e7),
)


@dataclass(frozen=True, eq=False)
class Said:
    """Log-probabilities (m, k) of cross-fitted attackers for `rows`."""

    rows: Rows
    log_p: FloatArray
    attackers: tuple[str, ...]  # the attacker chosen in each fold

    @property
    def by(self) -> str:
        """The chosen attackers as text."""
        return ", ".join(dict.fromkeys(self.attackers))


def folds_of(rows: Rows, people: Rows | None, seed: int) -> list[AttackParts]:
    """`FOLDS` ways to cut rows into train, val and test; each row is in test once.

    If `people` (of every record) are given, all records of a person fall into the same part.
    """
    rng = np.random.default_rng([seed, 0xF01D])
    names = (
        np.arange(len(rows)) if people is None else np.unique(people[rows], return_inverse=True)[1]
    )
    dealt = rng.permutation(int(names.max(initial=-1)) + 1)
    place = dealt[names]
    fold, held = place % FOLDS, place // FOLDS % 5 == 0
    return [
        AttackParts(rows[(fold != f) & ~held], rows[(fold != f) & held], rows[fold == f], people)
        for f in range(FOLDS)
    ]


def cross_fit(
    views: Mapping[str, FloatArray],
    attribute: Attribute,
    folds: Sequence[AttackParts],
    *,
    attackers: Sequence[Attacker] = BRISK,
    aside: Sequence[Attacker] = (),
    seed: int,
) -> dict[str, Said]:
    """Fit every attacker in every fold, choose on val, and keep the predictions for test.

    `views` has all records in each view. The key "best" has the predictions of the chosen
    attackers; attackers in `aside` cannot be chosen.
    """
    rows: list[Rows] = []
    said: dict[str, list[FloatArray]] = {}
    names = []
    for parts in folds:
        if len(parts.train) < 4 or not len(parts.val) or not len(parts.test):
            continue
        val = attribute.rows(parts.val)
        readings = [Reading.of(o, val) for o in _outcomes(views, attribute, parts, attackers, seed)]
        chosen, _ = choose(readings, val)
        others = [Reading.of(o, val) for o in _outcomes(views, attribute, parts, aside, seed)]
        rows.append(parts.test)
        names.append(chosen.best.name)
        for name, one in (("best", chosen.best), *((r.name, r) for r in (*readings, *others))):
            said.setdefault(name, []).append(one.test)
    if not rows:
        none = np.zeros((0, len(attribute.classes)), np.float32)
        return {"best": Said(np.zeros(0, np.int64), none, ())}
    asked = np.concatenate(rows)
    return {
        name: Said(asked, np.concatenate(pieces), tuple(names) if name == "best" else (name,))
        for name, pieces in said.items()
        if len(pieces) == len(rows)
    }


def _outcomes(
    views: Mapping[str, FloatArray],
    attribute: Attribute,
    parts: AttackParts,
    attackers: Sequence[Attacker],
    seed: int,
) -> Iterator[Outcome]:
    for one in attackers:
        x = views.get(one.view, views["standard"])
        k = len(attribute.classes)
        if one.declines(len(parts.train), x.shape[1], k) is None:
            yield Attack(one.name, one, x, attribute, parts, seed)()


def guess_without(
    attribute: Attribute, given: Sequence[Attribute], folds: Sequence[AttackParts]
) -> tuple[Rows, npt.NDArray[np.bool_]]:
    """The rows of all folds, and whether a guess from the preserved labels alone is right."""
    rows, right = [np.zeros(0, np.int64)], [np.zeros(0, bool)]
    code = joint(given) if given else np.zeros(len(attribute.codes), np.int64)
    code = np.where(code < 0, code.max(initial=0) + 1, code)
    for parts in folds:
        fitted = np.concatenate([parts.train, parts.val])
        table = contingency(code[fitted], attribute.codes[fitted])
        guess = np.full(int(code.max(initial=0)) + 1, int(attribute.rows(fitted).counts.argmax()))
        seen = table.sum(axis=1) > 0
        guess[: len(table)][seen] = table[seen].argmax(axis=1)
        rows.append(parts.test)
        right.append(guess[code[parts.test]] == attribute.codes[parts.test])
    return np.concatenate(rows), np.concatenate(right)
