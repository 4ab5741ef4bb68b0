"""Shapes of the attribute and contrastive networks, as MaSS B.1 and B.2 give them."""

from __future__ import annotations

import torch
from torch import nn

from withhold.learn.nets.attribute_net import AttributeNet
from withhold.learn.nets.contrastive_net import ContrastiveNet


def linears(network: nn.Module) -> list[tuple[int, int]]:
    layers = [m for m in network.modules() if isinstance(m, nn.Linear)]
    return [(layer.in_features, layer.out_features) for layer in layers]


def test_the_papers_widths_are_the_defaults() -> None:
    assert linears(AttributeNet(64, 10)) == [(64, 512), (512, 256), (256, 10)]
    encoder = linears(ContrastiveNet(64))
    assert encoder[:2] == [(64, 64), (64, 64)]
    assert encoder[-1] == (64, 128)


def test_attribute_net_gives_features_and_logits() -> None:
    network = AttributeNet(5, 3, (12, 7))
    z, p = network(torch.randn(9, 5))
    assert z.shape == (9, 7)
    assert p.shape == (9, 3)
    assert (z >= 0).all()  # after a ReLU
    assert (p < 0).any()  # not after one
    torch.testing.assert_close(network.head(z), p)


def test_contrastive_net_gives_projections_of_any_length() -> None:
    out = ContrastiveNet(5, 11)(torch.randn(9, 5))
    assert out.shape == (9, 11)
    assert out.norm(dim=1).std() > 0
