"""Worlds in which everything is known, and a quick codebook fitted to them.

`who` moves each record along an axis of its own (a one-hot of the class, far larger than the
noise), `word` moves it among other axes: who is fully readable from x, and so is the word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from methods.features.trained_method import QuickFit
from withhold.bundle.bundle import Bundle
from withhold.methods.features.codebook import CodebookModifier
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
QUICK: dict[str, Any] = {"codes": 16, "hidden": [32], "epochs": 15, "rounds": 3}
PARTS = np.array(["train", "train", "train", "val", "test"])


def leaking(
    n: int = 1200,
    people: int = 5,
    words: int = 4,
    *,
    shift: float = 6.0,
    noise: float = 0.5,
    seed: int = 0,
) -> Dataset:
    """Columns `who`, `word`, `split`; in every part, all pairs of who and word equally often.

    `shift` 0 makes x independent of who.
    """
    rng = np.random.default_rng(seed)
    pair = (np.arange(n) // len(PARTS)) % (people * words)
    who, word = pair % people, pair // people
    x = noise * rng.standard_normal((n, people + words))
    x[np.arange(n), who] += shift
    x[np.arange(n), people + word] += 4.0
    order = rng.permutation(n)
    table = {
        "who": [f"p{i}" for i in who[order]],
        "word": [f"w{i}" for i in word[order]],
        "split": PARTS[np.arange(n) % len(PARTS)][order].tolist(),
    }
    return Dataset.from_arrays(x[order].astype(np.float32), table, name="leaking")


def changed(data: Dataset, **columns: Any) -> Dataset:
    """The same records with some columns put in place of others (None: left out)."""
    table = {n: data.table[n] for n in data.table.column_names} | columns
    kept = {n: c for n, c in table.items() if c is not None}
    return Dataset.from_arrays(data.x, kept, name=data.name, group=data.group)


fit = QuickFit("codebook", QUICK, "who", "")


def made(*args: Any, **kwargs: Any) -> CodebookModifier:
    """The modifier of `fit`."""
    found = fit(*args, **kwargs).modifier
    assert isinstance(found, CodebookModifier)
    return found


def labels(modifier: CodebookModifier, data: Dataset) -> dict[str, Attribute]:
    return {name: data.attribute(name) for name in modifier.needs}


def draw(modifier: CodebookModifier, data: Dataset) -> Ints:
    return modifier.draw(data.x, labels(modifier, data))


def probabilities(modifier: CodebookModifier, data: Dataset) -> npt.NDArray[np.float64]:
    return modifier.probabilities(data.x, labels(modifier, data)).astype(np.float64)


def reads(modifier: CodebookModifier, data: Dataset, name: str) -> float:
    """Test accuracy of the best attacker of a code: the table of codes and classes of train."""
    train, test = data.part("train"), data.part("test")
    table = np.zeros((len(train.attribute(name).classes), len(modifier.codes)))
    np.add.at(table, (train.attribute(name).codes, draw(modifier, train)), 1)
    guess = table.argmax(axis=0)[draw(modifier, test)]
    return float((guess == test.attribute(name).codes).mean())


def use_of_codes(w: npt.NDArray[np.float64], classes: Ints) -> npt.NDArray[np.float64]:
    """How often each class is given each code: (K, N), rows sum to 1."""
    return np.stack([w[classes == c].mean(axis=0) for c in range(classes.max() + 1)])


def far_apart(use: npt.NDArray[np.float64]) -> float:
    """The largest total variation between a class's use of the codes and the mean of all."""
    return float(np.abs(use - use.mean(axis=0)).sum(axis=1).max() / 2)


def same(one: Bundle, two: Bundle) -> bool:
    """Weights to the byte, settings and history."""
    a, b = one.modifier.state(), two.modifier.state()
    equal = a.keys() == b.keys() and all(a[k].tobytes() == b[k].tobytes() for k in a)
    return equal and (one.modifier.settings(), one.history) == (
        two.modifier.settings(),
        two.history,
    )
