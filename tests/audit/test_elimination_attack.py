"""Elimination: the class that a code lacks, and what preserved labels tell of it anyway."""

from __future__ import annotations

import numpy as np

from withhold.audit.elimination_attack import eliminate, eliminate_from
from withhold.records.attribute import Attribute


def attribute(name: str, codes: np.ndarray, classes: int) -> Attribute:
    return Attribute(name, "categorical", tuple(f"{name}{i}" for i in range(classes)), codes)


def test_exactly_balanced_codes_are_read_whole() -> None:
    s = attribute("s", np.tile(np.repeat(np.arange(4), 5), 10), 4)
    x = np.repeat(np.arange(10), 20)[:, None].astype(np.float32)
    found = eliminate(x, s)
    assert found is not None
    assert found[0].all()


def test_independent_codes_tell_nothing() -> None:
    rng = np.random.default_rng(0)
    s = attribute("s", rng.integers(0, 4, 4000), 4)
    found = eliminate(rng.integers(0, 400, (4000, 1)).astype(np.float32), s)
    assert found is not None
    assert abs(found[0].mean() - 0.25) < 0.05


def test_one_code_for_all_tells_no_more_than_the_commonest_class() -> None:
    s = attribute("s", np.repeat([0, 0, 1], 100), 2)
    found = eliminate(np.zeros((300, 1), np.float32), s)
    assert found is not None
    assert found[0].mean() == 2 / 3


def test_preserved_labels_that_everyone_has_alike_set_the_floor() -> None:
    """Everyone says every digit as often: the digit alone gives the last label away."""
    s = attribute("s", np.repeat(np.arange(6), 50), 6)
    digit = attribute("digit", np.tile(np.repeat(np.arange(10), 5), 6), 10)
    assert eliminate_from([digit], s) == 1.0
    assert eliminate_from([], s) == 0.0
    rng = np.random.default_rng(1)
    apart = attribute("digit", rng.integers(0, 10, 300), 10)
    assert eliminate_from([apart], s) < 0.4
