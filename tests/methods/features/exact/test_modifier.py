"""The draws of `exact`: keyed, one for each row, the same however the rows are cut or ordered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from methods.features.exact.planned import draws_of, fitted, labels, plan_of, world
from support import key_of
from withhold.core.errors import UserError
from withhold.methods.features.exact import ExactModifier
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.release.keyed_order import occurrences
from withhold.release.survey import survey


@pytest.fixture(scope="module")
def data() -> Dataset:
    return world((160, 140), seed=20)


@pytest.fixture(scope="module")
def made(data: Dataset) -> ExactModifier:
    return fitted(data, "who", "word")


def with_key(made: ExactModifier, key: bytes) -> ExactModifier:
    return ExactModifier.from_state(made.state(), made.settings(), key)


def nonces_of(n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2**63, (n, 2)).astype(np.uint64)


def test_save_and_load_give_the_same_draws(data: Dataset, made: ExactModifier) -> None:
    again = with_key(made, made.key)
    np.testing.assert_array_equal(plan_of(again, data), plan_of(made, data))
    np.testing.assert_array_equal(draws_of(again, data), draws_of(made, data))
    np.testing.assert_array_equal(again.codes, made.codes)


def test_the_same_fit_twice(data: Dataset, made: ExactModifier) -> None:
    again = fitted(data, "who", "word")
    for name, array in made.state().items():
        np.testing.assert_array_equal(again.state()[name], array)


def test_any_order_of_the_rows(data: Dataset, made: ExactModifier) -> None:
    order = np.random.default_rng(0).permutation(len(data))
    nonces = nonces_of(len(data))
    drawn = made.draw(data.x, labels(made, data), nonces=nonces)
    moved = data.rows(order)
    other = made.draw(moved.x, labels(made, moved), nonces=nonces[order])
    np.testing.assert_array_equal(other, drawn[order])
    np.testing.assert_array_equal(draws_of(made, moved), draws_of(made, data)[order])


@pytest.mark.parametrize("size", [1, 7, 256, 299])
def test_any_size_of_a_batch(data: Dataset, made: ExactModifier, size: int) -> None:
    nonces, own = nonces_of(len(data)), labels(made, data)
    drawn, w = made.draw_with(data.x, own, nonces)
    for start in range(0, len(data), size) if size > 1 else (0, 17, 299):
        at = np.arange(start, min(start + size, len(data)))
        part = {n: a.rows(at) for n, a in own.items()}
        found, v = made.draw_with(data.x[at], part, nonces[at])
        np.testing.assert_array_equal(found, drawn[at])
        np.testing.assert_array_equal(v, w[at])


def test_the_draws_that_leave_are_independent_of_those_behind_the_codes(data: Dataset) -> None:
    """The codes hold values of the rows that drew them in the fit: see `fit._placed`."""
    made = fitted(data, "who", softness=16)
    found = survey([(data.x, data.table)], made.key).digests
    nonces = np.stack([found, occurrences(found)], axis=1).astype(np.uint64)
    leaving, w = made.draw_with(data.x, labels(made, data), nonces)
    behind = made.draw(data.x, labels(made, data))
    alike = (w.astype(np.float64) ** 2).sum(axis=1)  # the chance that two draws of a row agree
    assert alike.mean() < 0.9
    spread = np.sqrt((alike * (1 - alike)).sum())
    assert abs((leaving == behind).sum() - alike.sum()) < 4 * spread


def test_equal_records_of_different_rows_draw_separately(made: ExactModifier) -> None:
    """One record 4,000 times: the codes are as often as their probabilities."""
    from scipy.stats import chisquare

    data = world((160, 140), seed=20)
    spread = (plan_of(made, data) ** 2).sum(axis=1).argmin()  # of all records the least certain
    data = data.rows(np.full(4000, spread))
    w = plan_of(made, data)
    np.testing.assert_array_equal(w, w[:1].repeat(4000, axis=0))
    drawn = draws_of(made, data)
    found, expected = np.bincount(drawn, minlength=w.shape[1]), 4000 * w[0] / w[0].sum()
    rare = expected < 5
    assert (~rare).sum() >= 2
    observed = np.append(found[~rare], found[rare].sum())
    hoped = np.append(expected[~rare], expected[rare].sum())
    some = hoped > 0
    assert chisquare(observed[some], hoped[some] * observed.sum() / hoped.sum()).pvalue > 1e-4


def test_another_key_draws_others_from_the_same_plan(data: Dataset) -> None:
    """Softly drawn, so that two separate draws of a record seldom agree."""
    made = fitted(data, softness=16.0)
    other = with_key(made, key_of(9))
    w = plan_of(made, data)
    np.testing.assert_array_equal(plan_of(other, data), w)
    agree = (draws_of(other, data) == draws_of(made, data)).mean()
    expected = (w**2).sum(axis=1)
    assert expected.mean() < 0.6
    assert abs(agree - expected.mean()) < 4.5 * np.sqrt((expected * (1 - expected)).mean() / 300)


def test_draws_need_their_labels(data: Dataset, made: ExactModifier) -> None:
    assert made.needs == ("who", "word")
    with pytest.raises(UserError, match="who"):
        made.draw(data.x)


@pytest.mark.parametrize("name", ["who", "word"])
def test_labels_unknown_to_the_fit_are_refused(
    data: Dataset, made: ExactModifier, name: str
) -> None:
    own = labels(made, data)
    known = own[name]
    codes = known.codes.copy()
    codes[7] = len(known.classes)
    strange = own | {name: Attribute(name, "categorical", (*known.classes, "nobody"), codes)}
    with pytest.raises(UserError) as told:
        made.draw(data.x, strange)
    line = str(told.value)
    assert "\n" not in line
    assert "record 7 (the first is 0) has values of who, word that the fit did not see" in line


def test_a_pair_that_the_fit_did_not_see_is_refused(data: Dataset) -> None:
    """Both labels are known, but nobody with this class had this word."""
    pairs = np.array([f"{s}{u}" for s, u in zip(*(data.table[c].to_pylist() for c in
                     ("who", "word")), strict=True)])  # fmt: skip
    modifier = fitted(data.rows(pairs != "p0w2"), "who", "word")
    row = data.rows(np.flatnonzero(pairs == "p0w2")[:1])
    with pytest.raises(UserError, match="did not see together"):
        draws_of(modifier, row)


@pytest.mark.parametrize(("name", "value"), [("rest", 0.0), ("keep", 1.5), ("cells", 99)])
def test_a_plan_that_was_tampered_with_is_refused(
    made: ExactModifier, name: str, value: float
) -> None:
    state = made.state()
    state[name] = np.full_like(state[name], value)
    with pytest.raises(UserError, match="restore the bundle, or fit again"):
        ExactModifier.from_state(state, made.settings(), made.key)


def test_the_release_is_the_vector_of_the_code(data: Dataset, made: ExactModifier) -> None:
    own = labels(made, data)
    released = made.transform(data.x, own)
    np.testing.assert_array_equal(released, made.codes[made.draw(data.x, own)])


def test_code_vectors_are_means_of_the_records_that_drew_them(data: Dataset) -> None:
    modifier = fitted(data, codes=4, least=1)
    drawn = draws_of(modifier, data)
    expected = np.stack([data.x[drawn == j].mean(axis=0) for j in range(len(modifier.codes))])
    # The most extreme records are clipped to their neighbours.
    np.testing.assert_allclose(modifier.codes, expected, atol=0.05)


def test_other_potentials_are_no_longer_balanced(data: Dataset, made: ExactModifier) -> None:
    """The tests of the plan would notice a plan that ignores its potentials."""
    from methods.features.exact.planned import texts, unequal

    moved = replace(made.plan, potentials=made.plan.potentials[::-1].copy())
    other = ExactModifier(
        moved, made.key, suppress=made.suppress, preserve=made.preserve, classes=made.classes,
        values=made.values,
    )  # fmt: skip
    assert unequal(plan_of(other, data), texts(data, "who"), texts(data, "word")) > 1e-3
