"""The stated Bayes accuracies are those of the Bayes rules, measured; and the controls hold."""

from __future__ import annotations

from math import sqrt

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression

from withhold.core.errors import UserError
from withhold.datasets.worlds import World, full_leak, many_classes, no_leak, two_attributes, xor
from withhold.datasets.worlds.gaussian import paired_accuracy

N = 100_000


def labels(world: World, name: str = "label") -> npt.NDArray[np.int64]:
    return np.array(world.attributes[name].to_pylist()).astype(np.int64)


def coordinates(world: World) -> npt.NDArray[np.float64]:
    return world.x @ world.axes.T


def assert_meets(world: World, name: str, guess: npt.NDArray[np.int64]) -> None:
    """The rule's measured accuracy is the stated one, within four standard errors."""
    stated = world.bayes[name]
    measured = np.mean(guess == labels(world, name))
    assert abs(measured - stated) < 4 * sqrt(stated * (1 - stated) / len(guess)) + 1e-12


def probe(world: World) -> float:
    """Test accuracy of a linear probe fitted on train."""
    split = np.array(world.attributes["split"].to_pylist())
    train, test = split == "train", split == "test"
    model = LogisticRegression().fit(world.x[train], labels(world)[train])
    return float(model.score(world.x[test], labels(world)[test]))


@pytest.mark.parametrize(
    ("s", "u", "correlation"),
    [(1.0, 2.0, 0.0), (0.7, 1.5, 0.6), (0.7, 1.5, -0.9), (0.1, 2.0, 0.3), (0.0, 1.0, 0.5)],
)
def test_two_attributes_by_the_bayes_rule(s: float, u: float, correlation: float) -> None:
    world = two_attributes(
        N, 6, separation_suppress=s, separation_preserve=u, correlation=correlation, seed=1
    )
    at = coordinates(world)
    # joint posterior over the four cells, written out, so that nothing is shared with the code
    sign = np.array([-1.0, 1.0])
    likelihood = np.exp(
        s * at[:, 0, None, None] * sign[:, None] + u * at[:, 1, None, None] * sign[None, :]
    )
    joint = likelihood * (1 + correlation * np.outer(sign, sign))
    assert_meets(world, "secret", joint.sum(axis=2).argmax(axis=1))
    assert_meets(world, "useful", joint.sum(axis=1).argmax(axis=1))


@given(own=st.floats(0.05, 4), other=st.floats(0, 4), correlation=st.floats(-1, 1))
@settings(max_examples=60, deadline=None)
def test_correlation_only_helps(own: float, other: float, correlation: float) -> None:
    accuracy = paired_accuracy(own, other, correlation)
    # at least what either source gives alone, at most both signs known to be the same
    assert accuracy >= max(ndtr(own), 0.5 + abs(correlation) * (ndtr(other) - 0.5)) - 1e-8
    assert accuracy <= ndtr(np.hypot(own, other)) + 1e-8
    assert accuracy == pytest.approx(paired_accuracy(own, other, -correlation), abs=1e-8)


def test_paired_accuracy_has_its_known_limits() -> None:
    assert paired_accuracy(1.2, 3.0, 0.0) == pytest.approx(ndtr(1.2))
    assert paired_accuracy(1.2, 0.9, 1 - 1e-9) == pytest.approx(ndtr(1.5), abs=1e-6)
    assert paired_accuracy(1.2, 0.9, -1.0) == pytest.approx(ndtr(1.5))
    assert paired_accuracy(1e-3, 1.5, 0.4) == pytest.approx(paired_accuracy(0, 1.5, 0.4), abs=1e-3)


def test_correlation_of_the_labels_is_the_one_asked_for() -> None:
    world = two_attributes(
        1000, 2, separation_suppress=1, separation_preserve=1, correlation=0.4, seed=0
    )
    secret, useful = labels(world, "secret"), labels(world, "useful")
    assert np.corrcoef(secret, useful)[0, 1] == pytest.approx(0.4, abs=0.01)
    assert secret.mean() == useful.mean() == 0.5


@pytest.mark.parametrize(("classes", "separation"), [(2, 1.0), (3, 2.0), (20, 3.0)])
def test_many_classes_by_the_largest_coordinate(classes: int, separation: float) -> None:
    world = many_classes(N, classes + 3, classes, separation=separation, seed=2)
    assert_meets(world, "label", coordinates(world).argmax(axis=1))


def test_many_classes_has_its_known_limits() -> None:
    assert many_classes(50, 2, 2, separation=1.7).bayes["label"] == pytest.approx(
        ndtr(1.7 / 2**0.5)
    )
    assert many_classes(50, 7, 7, separation=0.0).bayes["label"] == pytest.approx(1 / 7)
    assert many_classes(50, 7, 7, separation=12.0).bayes["label"] == pytest.approx(1.0)


def test_xor_by_the_bayes_rule_and_blind_to_a_linear_probe() -> None:
    world = xor(N, 5, separation=1.3, seed=4)
    at = coordinates(world)
    assert_meets(world, "label", (at[:, 0] * at[:, 1] < 0).astype(np.int64))
    assert world.bayes["label"] > 0.8
    assert abs(probe(world) - 0.5) < 4 * sqrt(0.25 / (0.2 * N))


def test_no_leak_leaves_a_probe_at_chance() -> None:
    world = no_leak(20_000, 12, 5, seed=6)
    assert world.bayes["label"] == 0.2
    assert abs(probe(world) - 0.2) < 4 * sqrt(0.2 * 0.8 / 4000)
    assert no_leak(102, 6, 5, seed=6).bayes["label"] == pytest.approx(
        np.bincount(labels(no_leak(102, 6, 5, seed=6))).max() / 102
    )


def test_full_leak_is_read_without_a_mistake() -> None:
    world = full_leak(5000, 12, 5, seed=7)
    assert world.bayes["label"] == 1.0
    assert (coordinates(world).argmax(axis=1) == labels(world)).all()
    assert probe(world) == 1.0


def test_a_linear_probe_meets_the_bound_and_does_not_pass_it() -> None:
    world = many_classes(50_000, 10, 4, separation=2.0, seed=8)
    bayes = world.bayes["label"]
    assert abs(probe(world) - bayes) < 4 * sqrt(bayes * (1 - bayes) / 10_000) + 0.003


def make(name: str, seed: int) -> World:
    if name == "two_attributes":
        return two_attributes(400, 8, separation_suppress=1, separation_preserve=1, seed=seed)
    if name == "many_classes":
        return many_classes(400, 8, 4, separation=2, seed=seed)
    if name == "xor":
        return xor(400, 8, separation=2, seed=seed)
    return {"no_leak": no_leak, "full_leak": full_leak}[name](400, 8, 4, seed)


@pytest.mark.parametrize("name", ["two_attributes", "many_classes", "xor", "no_leak", "full_leak"])
def test_every_world_keeps_the_contract(name: str) -> None:
    world, again, other = make(name, 0), make(name, 0), make(name, 1)
    assert world.x.tobytes() == again.x.tobytes()
    assert world.attributes.equals(again.attributes)
    assert world.x.tobytes() != other.x.tobytes()
    assert world.x.shape == (400, 8)
    assert world.x.dtype == np.float32
    np.testing.assert_allclose(world.axes @ world.axes.T, np.eye(len(world.axes)), atol=1e-12)
    split = np.array(world.attributes["split"].to_pylist())
    assert [int((split == part).sum()) for part in ("train", "val", "test")] == [240, 80, 80]
    for attribute in world.bayes:
        counts = [np.bincount(labels(world, attribute)[split == part]) for part in set(split)]
        assert all((count == count[0]).all() for count in counts)


def test_mistakes_are_named() -> None:
    with pytest.raises(UserError, match="d must be at least 5"):
        many_classes(100, 4, 5, separation=1)
    with pytest.raises(UserError, match="classes"):
        no_leak(100, 4, 1)
    with pytest.raises(UserError, match="too few"):
        full_leak(20, 8, 8)
    with pytest.raises(UserError, match="correlation"):
        two_attributes(100, 4, separation_suppress=1, separation_preserve=1, correlation=2)
    with pytest.raises(UserError, match="separation"):
        xor(100, 4, separation=-1)
