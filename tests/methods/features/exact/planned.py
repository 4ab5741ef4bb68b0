"""Small worlds for `exact`, a quick fit of them, and the plan of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from support import Recorder, key_of
from withhold.methods import Journal
from withhold.methods.features.exact import ExactConfig, ExactMethod, ExactModifier
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

Ints = npt.NDArray[np.int64]
Masses = npt.NDArray[np.float64]
QUICK: dict[str, Any] = {
    "codes": 12,
    "rounds": 1,
    "exact_rounds": 0,
    "epochs": 2,
    "scores": "metric",
}


def world(sizes: tuple[int, ...], words: int = 3, *, seed: int = 0) -> Dataset:
    """`who` has classes of these sizes and moves x, and so does `word`; `side` is a fair coin."""
    rng = np.random.default_rng(seed)
    who = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    n = len(who)
    word, side = rng.integers(0, words, n), rng.integers(0, 2, n)
    x = 0.7 * rng.standard_normal((n, 8))
    x[:, 0] += 3 * who
    x[np.arange(n), 1 + word] += 3
    x[:, 5] += 2 * side
    table = {
        "who": [f"p{i}" for i in who],
        "word": [f"w{i}" for i in word],
        "side": np.array(["left", "right"])[side].tolist(),
    }
    return Dataset.from_arrays(x.astype(np.float32), table, name="world")


def with_missing(data: Dataset, name: str, *, every: int) -> Dataset:
    """The same records, of which each `every`-th has no label of `name`."""
    table = {c: data.table[c].to_pylist() for c in data.table.column_names}
    table[name] = [None if i % every == 0 else v for i, v in enumerate(table[name])]
    return Dataset.from_arrays(data.x, table, name=data.name)


def fitted(
    data: Dataset,
    suppress: str = "who",
    preserve: str = "",
    *,
    seed: int = 0,
    progress: Recorder | None = None,
    **config: Any,
) -> ExactModifier:
    """A quick fit, with a key that belongs to the seed."""
    journal = Journal()
    journal.use_key(key_of(seed))
    settings = ExactConfig(**(QUICK | config))
    roles = Roles.of(suppress, preserve)
    return ExactMethod().fit(
        data, roles, settings, progress or Recorder(), seed=seed, journal=journal
    )


def labels(modifier: ExactModifier, data: Dataset) -> dict[str, Attribute]:
    return {name: data.attribute(name) for name in modifier.needs}


def plan_of(modifier: ExactModifier, data: Dataset) -> Masses:
    """W (n, N) in double precision."""
    return modifier.probabilities(data.x, labels(modifier, data)).astype(np.float64)


def draws_of(modifier: ExactModifier, data: Dataset) -> Ints:
    return modifier.draw(data.x, labels(modifier, data))


def texts(data: Dataset, *names: str) -> list[str]:
    """The joint value of some columns of each record; a missing one is `None`."""
    rows = zip(*(data.table[n].to_pylist() for n in names), strict=True)
    return [str(row) for row in rows] if names else [""] * len(data)


def unequal(w: Masses, classes: list[str], values: list[str]) -> float:
    """The largest |sum of W(j | i) over (s, u) - n_su b_uj| / n_su, b_u the shares of value u."""
    s, u = np.array(classes), np.array(values)
    worst = 0.0
    for value in np.unique(u):
        common = w[u == value].mean(axis=0)
        for name in np.unique(s[u == value]):
            own = w[(u == value) & (s == name)].mean(axis=0)
            worst = max(worst, float(np.abs(own - common).max()))
    return worst
