"""Folding changes nothing; n(v) is what the papers say."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from withhold.learn.nets.attribute_net import AttributeNet
from withhold.learn.nets.contrastive_net import ContrastiveNet
from withhold.learn.nets.perceptron import aligned, folded, mlp, unit


def trained(network: nn.Module, d: int) -> nn.Module:
    """Running statistics, scales and shifts that are not those of a new network."""
    generator = torch.Generator().manual_seed(0)
    network.train()
    with torch.no_grad():
        for _ in range(20):
            network(3 * torch.randn(32, d, generator=generator) + 1)
        for layer in network.modules():
            if isinstance(layer, nn.BatchNorm1d):
                layer.weight.uniform_(0.2, 2, generator=generator)
                layer.bias.uniform_(-1, 1, generator=generator)
    return network.eval()


@pytest.mark.parametrize(
    ("sizes", "last", "dropout"),
    [([7, 5], False, 0.0), ([7, 9, 5], False, 0.3), ([7, 9, 6, 5], True, 0.0), ([7, 5], True, 0.5)],
)
def test_folded_equals_evaluation_mode(sizes: list[int], last: bool, dropout: float) -> None:
    network = mlp(sizes, last_activation=last, dropout=dropout)
    trained(network, 7)
    x = torch.randn(64, 7, generator=torch.Generator().manual_seed(1))
    fold = folded(network)
    torch.testing.assert_close(fold(x), network(x), atol=1e-5, rtol=1e-5)
    assert not any(isinstance(layer, nn.BatchNorm1d | nn.Dropout) for layer in fold)
    assert not any(p.requires_grad for p in fold.parameters())


@pytest.mark.parametrize("sizes", [[7, 5], [3, 9, 6, 5], [16, 32, 16]])
def test_aligned_is_the_same_function_of_records_filled_up(sizes: list[int]) -> None:
    network = mlp(sizes)
    trained(network, sizes[0])
    fold = folded(network)
    wide = aligned(fold)
    x = torch.randn(64, sizes[0], generator=torch.Generator().manual_seed(1))
    filled = torch.zeros(64, 16)
    filled[:, : sizes[0]] = x
    out = wide(filled)
    assert out.shape[1] % 16 == 0
    torch.testing.assert_close(out[:, : sizes[-1]], fold(x), atol=1e-5, rtol=1e-5)
    assert (out[:, sizes[-1] :] == 0).all()
    assert fold[0].in_features == sizes[0]


def test_folding_leaves_the_network_as_it_was() -> None:
    network = mlp([4, 6, 3])
    trained(network, 4)
    before = {k: v.clone() for k, v in network.state_dict().items()}
    folded(network)[0].weight.data.zero_()
    for key, value in network.state_dict().items():
        assert torch.equal(value, before[key])
    assert all(p.requires_grad for p in network.parameters())


def test_folding_keeps_double_precision() -> None:
    network = mlp([4, 6, 3]).double()
    network.train()
    network(torch.randn(16, 4, dtype=torch.float64))
    network.eval()
    x = torch.randn(5, 4, dtype=torch.float64)
    torch.testing.assert_close(folded(network)(x), network(x), atol=1e-12, rtol=1e-12)


def test_frozen_attribute_and_contrastive_nets_are_the_same_functions() -> None:
    x = torch.randn(40, 6, generator=torch.Generator().manual_seed(2))
    attribute = AttributeNet(6, 3, (16, 8), dropout=0.2)
    trained(attribute, 6)
    for frozen, live in zip(attribute.frozen()(x), attribute(x), strict=True):
        torch.testing.assert_close(frozen, live, atol=1e-5, rtol=1e-5)
    contrastive = ContrastiveNet(6, 10)
    trained(contrastive, 6)
    torch.testing.assert_close(contrastive.frozen()(x), contrastive(x), atol=1e-5, rtol=1e-5)


def test_a_frozen_net_lets_gradients_through_but_keeps_none() -> None:
    frozen = AttributeNet(6, 3, (8,)).frozen()
    x = torch.randn(4, 6, requires_grad=True)
    frozen(x)[1].sum().backward()
    assert x.grad is not None
    assert (x.grad != 0).any()
    assert all(p.grad is None for p in frozen.parameters())


def test_mlp_layers_are_in_the_papers_order() -> None:
    kinds = [type(layer) for layer in mlp([4, 5, 6, 2])]
    block = [nn.Linear, nn.BatchNorm1d, nn.ReLU]
    assert kinds == [*block, *block, nn.Linear]
    assert [type(layer) for layer in mlp([4, 5, 6], last_activation=True)] == [*block, *block]


def test_unit_has_length_one_and_zero_stays_zero() -> None:
    v = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1e-6, 0.0]])
    expected = torch.tensor([[0.6, 0.8], [0.0, 0.0], [1.0, 0.0]])
    torch.testing.assert_close(unit(v), expected)
