"""Rivals: each reads a linear leak, and none leaves the random state of the process changed."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from support import codes, of_world
from withhold.bench.rivals import ART_MODELS, RIVALS
from withhold.core.errors import UserError
from withhold.datasets.worlds import full_leak, many_classes, no_leak, xor
from withhold.datasets.worlds.gaussian import World

BASELINE = "art.attacks.inference.attribute_inference.baseline"


@pytest.fixture(params=RIVALS)
def name(request: pytest.FixtureRequest) -> str:
    if request.param.startswith("ART"):
        pytest.importorskip("art", reason="adversarial-robustness-toolbox is not installed")
    return str(request.param)


def accuracy(name: str, world: World) -> float:
    data = of_world(world)
    train, test = data.part("train", "val"), data.part("test")
    guesses = RIVALS[name](train.x, codes(train, "label"), test.x, 0)
    assert guesses.dtype == np.int64
    assert guesses.shape == (len(test),)
    return float(np.mean(guesses == codes(test, "label")))


def test_names() -> None:
    assert list(RIVALS)[:2] == ["logistic probe", "one MLP"]
    assert list(RIVALS)[2:] == [f"ART {model}" for model in ART_MODELS]


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_reads_a_linear_leak(name: str, classes: int) -> None:
    world = many_classes(1200, 4, classes, separation=4.0)
    assert accuracy(name, world) == pytest.approx(world.bayes["label"], abs=0.06)


@pytest.mark.slow
def test_reads_nothing_where_nothing_is(name: str) -> None:
    # 240 test records: 0.13 is four deviations.
    assert accuracy(name, no_leak(1200, 4, 2)) == pytest.approx(0.5, abs=0.13)


@pytest.mark.slow
def test_a_linear_one_does_not_read_xor(name: str) -> None:
    found = accuracy(name, xor(2000, 4, separation=2.5))
    if name in ("logistic probe", "ART lr"):
        assert found == pytest.approx(0.5, abs=0.1)
    else:
        assert found > 0.85


@pytest.mark.slow
def test_codes_may_have_gaps_and_features_any_scale(name: str) -> None:
    data = of_world(full_leak(600, 4, 3))
    train, test = data.part("train", "val"), data.part("test")
    names = np.array([1, 4, 9])
    scale = np.array([1e-3, 1.0, 1e4, 1.0, 1.0], np.float32)

    def features(x: np.ndarray) -> np.ndarray:
        return scale * np.column_stack([x, np.full(len(x), 0.1, np.float32)])

    guesses = RIVALS[name](features(train.x), names[codes(train, "label")], features(test.x), 0)
    assert set(guesses) <= set(names)
    assert np.mean(guesses == names[codes(test, "label")]) > 0.9


def test_same_seed_same_guesses(name: str) -> None:
    data = of_world(many_classes(300, 4, 3, separation=1.0))
    train, test = data.part("train"), data.part("test")
    run = (train.x, codes(train, "label"), test.x, 3)
    first = RIVALS[name](*run)
    np.random.rand()
    torch.rand(1)
    before = (np.random.get_state()[1].tolist(), torch.random.get_rng_state().tolist())
    assert (RIVALS[name](*run) == first).all()
    assert before == (np.random.get_state()[1].tolist(), torch.random.get_rng_state().tolist())


def test_without_art(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, BASELINE, None)
    x = np.zeros((4, 2), np.float32)
    with pytest.raises(UserError, match=r"'ART rf' needs .* pip install \"withhold\[bench\]\" -c"):
        RIVALS["ART rf"](x, np.array([0, 1, 0, 1]), x, 0)
