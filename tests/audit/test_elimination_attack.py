"""Elimination: the class that a code lacks, and what preserved labels tell of it anyway."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from withhold.audit.all_rows import RowsTask
from withhold.audit.elimination_attack import eliminate, eliminate_from
from withhold.audit.findings import Wider
from withhold.audit.intervals import shared
from withhold.audit.split import Split
from withhold.records.attribute import Attribute


def rows_with_digit(
    classes: int, *, balanced: bool, seed: int
) -> tuple[npt.NDArray[np.float32], Attribute]:
    """Codes in ten clusters; if `balanced`, every class has each cluster 40 times."""
    rng = np.random.default_rng(seed)
    s = np.repeat(np.arange(classes), 400)
    digit = np.tile(np.repeat(np.arange(10), 40), classes)
    digit = digit if balanced else rng.integers(0, 10, len(s))
    vectors = np.repeat(5 * rng.standard_normal((10, 4)), 6, axis=0)
    vectors += 0.3 * rng.standard_normal((60, 4))
    return vectors[6 * digit + rng.integers(0, 6, len(s))].astype(np.float32), attribute(
        "s", s, classes
    )


def task(x: npt.NDArray[np.float32], s: Attribute) -> RowsTask:
    n = len(x)
    split = Split(np.ones(n, bool), np.zeros(n, bool), np.zeros(n, bool))
    return RowsTask(s, (), x, x, None, None, split, 0.0, ("a", "b", "c", "d"), 0)


@pytest.mark.parametrize("classes", [2, 12])
def test_groups_of_codes_are_read_where_codes_are_random(classes: int) -> None:
    x, s = rows_with_digit(classes, balanced=True, seed=0)
    fine, *coarse = (right.mean() for right, _ in eliminate(x, s))
    assert fine < 1 / classes + 0.1
    assert max(coarse) == 1.0
    found = _eliminated(x, s)
    assert found.sure
    assert found.accuracy == 1.0


@pytest.mark.parametrize("classes", [2, 12])
def test_several_levels_do_not_make_chance_a_finding(classes: int) -> None:
    worlds = [rows_with_digit(classes, balanced=False, seed=seed) for seed in range(40)]
    assert not any(_eliminated(x, s).sure for x, s in worlds)


def _eliminated(x: npt.NDArray[np.float32], s: Attribute) -> Wider:
    rows = np.arange(len(x))
    one = {"all": np.ones(len(x), bool)}
    return task(x, s)._eliminated(one, rows, np.zeros(len(x), bool), shared(2), 0.0)["all"]


def attribute(name: str, codes: np.ndarray, classes: int) -> Attribute:
    return Attribute(name, "categorical", tuple(f"{name}{i}" for i in range(classes)), codes)


def test_exactly_balanced_codes_are_read_whole() -> None:
    s = attribute("s", np.tile(np.repeat(np.arange(4), 5), 10), 4)
    x = np.repeat(np.arange(10), 20)[:, None].astype(np.float32)
    found = eliminate(x, s)
    assert found
    assert found[0][0].all()


def test_independent_codes_tell_nothing() -> None:
    rng = np.random.default_rng(0)
    s = attribute("s", rng.integers(0, 4, 4000), 4)
    found = eliminate(rng.integers(0, 400, (4000, 1)).astype(np.float32), s)
    assert len(found) > 1
    for right, _ in found:
        assert abs(right.mean() - 0.25) < 0.05


def test_one_code_for_all_tells_no_more_than_the_commonest_class() -> None:
    s = attribute("s", np.repeat([0, 0, 1], 100), 2)
    found = eliminate(np.zeros((300, 1), np.float32), s)
    assert len(found) == 1
    assert found[0][0].mean() == 2 / 3


def test_preserved_labels_that_everyone_has_alike_set_the_floor() -> None:
    """Everyone says every digit as often: the digit alone gives the last label away."""
    s = attribute("s", np.repeat(np.arange(6), 50), 6)
    digit = attribute("digit", np.tile(np.repeat(np.arange(10), 5), 6), 10)
    assert eliminate_from([digit], s) == 1.0
    assert eliminate_from([], s) == 0.0
    rng = np.random.default_rng(1)
    apart = attribute("digit", rng.integers(0, 10, 300), 10)
    assert eliminate_from([apart], s) < 0.4
