"""Measure a release: what models of the original read from it, and what retrained ones do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from withhold.attribute import Attribute
from withhold.audit.attackers.attacker import Attacker, FloatArray, Prediction
from withhold.audit.attackers.mlp import Mlp
from withhold.audit.evidence import AttributeEvidence, Evidence
from withhold.audit.metrics import Score, score
from withhold.dataset import Dataset
from withhold.errors import UserError
from withhold.feasibility import contingency, joint
from withhold.progress import Progress, Silent
from withhold.roles import Role, Roles


def evaluate(
    original: Dataset,
    release: Dataset,
    suppress: Iterable[str] | str,
    preserve: Iterable[str] | str = (),
    *,
    hidden: Iterable[str] | None = None,
    models: Mapping[str, Prediction] | None = None,
    attacker: Attacker | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evidence:
    """Every attribute of `original`, measured on `release`, whose records are the same ones.

    For each: the accuracy of a model of the originals on the originals, of the same model on the
    release (`ignorant`), and of one retrained on the release (`informed`). Attackers fit on train,
    are chosen on val and measured on test. `models` gives models of the originals that exist
    already (the frozen ones of a method); `hidden` names the other attributes to measure.
    """
    roles = Roles.of(suppress, preserve)
    progress, attacker = progress or Silent(), attacker or Mlp()
    original = original.with_drawn_split(roles.suppress)
    roles.check(original)
    _check_pair(original, release)
    split = Split.of(original, seed)
    names = [*roles.named, *(_hidden(original, roles, split) if hidden is None else hidden)]
    for name in names:  # all of them before any is trained on: a late mistake costs hours
        original.attribute(name).require_label(original.name)
        why = unmeasurable(original.attribute(name), split)
        if why:
            raise UserError(why)
    found = {}
    for name in names:
        attribute = original.attribute(name)
        floor_from = (
            [original.attribute(p) for p in roles.preserve] if name in roles.suppress else []
        )
        found[name] = _measure(
            attribute,
            roles.role(name),
            original.x,
            release.x,
            split,
            attacker,
            (models or {}).get(name),
            [a for a in floor_from if not a.multilabel and a.name != name],
            seed=seed,
            progress=progress,
        )
    same = original.x.shape == release.x.shape
    moved = None
    if same:
        difference = original.x[split.test] - release.x[split.test]
        moved = float(np.linalg.norm(difference, axis=1).mean())
    settings = {
        "seed": seed,
        "attackers": [attacker.name],
        "train": int(split.train.sum()),
        "val": int(split.val.sum()),
        "test": int(split.test.sum()),
    }
    return Evidence(len(original), found, moved, settings)


@dataclass(frozen=True, eq=False)
class Split:
    """Which records attackers fit on, are chosen on, and are measured on."""

    train: np.ndarray[tuple[int], np.dtype[np.bool_]]
    val: np.ndarray[tuple[int], np.dtype[np.bool_]]
    test: np.ndarray[tuple[int], np.dtype[np.bool_]]

    @classmethod
    def of(cls, dataset: Dataset, seed: int) -> Split:
        """The parts of the data; where it has no val, a tenth of train is set apart."""
        parts = dataset.parts
        assert parts is not None
        train, val, test = (parts == p for p in ("train", "val", "test"))
        if not test.any() or not train.any():
            raise UserError(
                f"column 'split' of {dataset.name} has no "
                f"{'test' if train.any() else 'train'} records, so nothing can be measured"
            )
        if not val.any():
            rows = np.flatnonzero(train)
            chosen = np.random.default_rng([seed, 0xA1]).permutation(rows)[
                : max(len(rows) // 10, 1)
            ]
            val = np.zeros_like(train)
            val[chosen] = True
            train = train & ~val
        return cls(train, val, test)


def _measure(
    attribute: Attribute,
    role: Role,
    x: FloatArray,
    x_new: FloatArray,
    split: Split,
    attacker: Attacker,
    model: Prediction | None,
    floor_from: list[Attribute],
    *,
    seed: int,
    progress: Progress,
) -> AttributeEvidence:
    train, val, test = (attribute.rows(p) for p in (split.train, split.val, split.test))

    def trained_on(features: FloatArray) -> Prediction:
        return attacker.fit(
            features[split.train], train, features[split.val], val, seed=seed, progress=progress
        )

    fixed = model or trained_on(x)
    informed = trained_on(x_new)
    ignorant: Score | None = None
    if x.shape[1] == x_new.shape[1]:
        ignorant = score(fixed.logits(x_new[split.test]), test)
    return AttributeEvidence(
        role=role,
        classes=len(attribute.classes),
        records=int(test.known.sum()),
        majority=test.majority,
        floor=floor(attribute, floor_from, split),
        original=score(fixed.logits(x[split.test]), test),
        ignorant=ignorant,
        informed=score(informed.logits(x_new[split.test]), test),
        attacker=attacker.name,
    )


def floor(attribute: Attribute, given: list[Attribute], split: Split) -> float:
    """The best guess from the preserved labels alone: a table fitted on train, tested on test."""
    test = attribute.rows(split.test)
    if attribute.multilabel or not given:
        return test.majority
    code = joint(given)
    code = np.where(code < 0, code.max(initial=0) + 1, code)
    fitted = split.train | split.val
    table = contingency(code[fitted], attribute.codes[fitted])
    guess = np.full(int(code.max()) + 1, int(attribute.rows(fitted).counts.argmax()))
    seen = table.sum(axis=1) > 0
    guess[: len(table)][seen] = table[seen].argmax(axis=1)
    known = test.codes >= 0
    # A sparse table can do worse than ignoring it; whoever guesses would then ignore it.
    return max(float((guess[code[split.test]][known] == test.codes[known]).mean()), test.majority)


def unmeasurable(attribute: Attribute, split: Split) -> str | None:
    """Why this split says nothing about an attribute, whatever the release; None where it does.

    A split by person cannot show whether a person can be recognised: nobody names whom they never
    met, and an audit that passed for that reason would be worth nothing.
    """
    train, test = attribute.rows(split.train), attribute.rows(split.test)
    for part, labels, least in (("train", train, 2), ("test", test, 1)):
        if int(labels.known.sum()) < least:
            return f"attribute '{attribute.name}' has too few labels in the {part} part"
    if not attribute.multilabel and not np.isin(test.codes[test.known], train.codes).any():
        return (
            f"no class of '{attribute.name}' is in both the train and the test part, so no attacker"
            " could be right; split by record"
        )
    return None


def _hidden(original: Dataset, roles: Roles, split: Split) -> list[str]:
    hidden = [n for n in original.labels() if roles.role(n) == "hidden"]
    return [n for n in hidden if unmeasurable(original.attribute(n), split) is None]


def _check_pair(original: Dataset, release: Dataset) -> None:
    if len(original) != len(release):
        raise UserError(
            f"{original.name} has {len(original):,} records and {release.name}"
            f" {len(release):,}; a release has the same records in the same order"
        )
