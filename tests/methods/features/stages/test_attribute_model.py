"""Attribute models learn what is there, from the labels that are there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from withhold.core.progress import Silent
from withhold.learn.journal import FitContext
from withhold.learn.nets.attribute_net import AttributeNet
from withhold.methods import Journal
from withhold.methods.features.stages.attribute_model import (
    AttributeModelConfig,
    class_weights,
    train_attribute_model,
)
from withhold.records.attribute import Attribute

SMALL = AttributeModelConfig(hidden=(16, 8), epochs=20, batch=32)
Codes = npt.NDArray[np.int64]


def attribute(codes: Codes, k: int = 2) -> Attribute:
    kind = "multilabel" if codes.ndim == 2 else "categorical"
    return Attribute("a", kind, tuple(map(str, range(k))), codes)  # type: ignore[arg-type]


def train(
    x: Tensor, codes: Codes, config: AttributeModelConfig = SMALL, *, k: int = 2, seed: int = 0
) -> AttributeNet:
    context = FitContext(seed, Silent(), Journal(), "")
    return train_attribute_model(x, attribute(codes, k), config, context)


def two_blobs(n: int = 400, *, gap: float = 2.0, share: float = 0.5) -> tuple[Tensor, Codes]:
    rng = np.random.default_rng(0)
    codes = (rng.random(n) < share).astype(np.int64)
    x = rng.standard_normal((n, 4))
    x[:, 0] += gap * (2 * codes - 1)
    return torch.from_numpy(x.astype(np.float32)), codes


def predict(network: AttributeNet, x: Tensor) -> Codes:
    with torch.no_grad():
        return network(x)[1].argmax(1).numpy()  # type: ignore[no-any-return]


def test_it_learns_a_label_that_is_there() -> None:
    x, codes = two_blobs()
    network = train(x, codes)
    assert not network.training
    assert (predict(network, x) == codes).mean() > 0.95  # Bayes: 0.977


def test_records_without_a_label_have_no_part() -> None:
    x, codes = two_blobs()
    known = np.arange(len(x)) % 4 > 0
    masked = np.where(known, codes, -1)
    one = train(x, masked)
    other = x.clone()
    other[~torch.from_numpy(known)] = 1e3
    two = train(other, masked)
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_multilabel_attribute_has_a_sigmoid_a_label() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (400, 2))
    x = rng.standard_normal((400, 4)).astype(np.float32)
    x[:, :2] += 4 * codes
    codes[::5, 0] = -1
    network = train(torch.from_numpy(x), codes)
    with torch.no_grad():
        found = network(torch.from_numpy(x))[1].numpy() > 0
    known = codes >= 0
    assert (found == (codes == 1))[known].mean() > 0.95


def test_balance_finds_the_rare_class() -> None:
    x, codes = two_blobs(600, gap=0.7, share=0.1)
    rare = codes == 1
    plain = predict(train(x, codes), x)
    balanced = predict(train(x, codes, SMALL.model_copy(update={"balance": True})), x)
    assert (balanced == codes)[rare].mean() > (plain == codes)[rare].mean() + 0.2


def test_class_weights_are_the_inverse_frequencies() -> None:
    weights = class_weights(attribute(np.array([0, 0, 0, 1, 2, 2, -1, -1]), 3))
    np.testing.assert_allclose(weights.numpy(), 6 / 3 / np.array([3, 1, 2]), rtol=1e-6)
    # every class then weighs alike in the whole
    assert float(weights @ torch.tensor([3.0, 1.0, 2.0])) == pytest.approx(6)


def test_multilabel_weights_are_negatives_over_positives() -> None:
    codes = np.array([[1, 0], [0, 0], [0, -1], [0, 1], [-1, 1]])
    np.testing.assert_allclose(class_weights(attribute(codes)).numpy(), [3, 1])


def test_a_class_without_records_gets_a_finite_weight() -> None:
    weights = class_weights(attribute(np.array([0, 0, 1]), 3))
    assert torch.isfinite(weights).all()


def test_the_same_seed_gives_the_same_model_and_another_another() -> None:
    x, codes = two_blobs(100)
    short = SMALL.model_copy(update={"epochs": 2})
    one, two, other = (train(x, codes, short, seed=s).head.weight for s in (0, 0, 1))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
