"""Activation attention: its formula, and that it is where something is."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from withhold.learn.nets.attention import attention
from withhold.learn.nets.deep_resnet import DeepResNet
from withhold.learn.training import initialise


def network() -> DeepResNet:
    made = DeepResNet(18, 3, width=0.125, side=32)
    initialise(made, 0)
    return made.eval()


def test_it_is_the_mean_square_of_the_third_stage() -> None:
    net, x = network(), torch.rand(2, 3, 32, 48, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        maps = net.layer3(net.layer2(net.layer1(net.maxpool(net.relu(net.bn1(net.conv1(x)))))))
    mean = sum(maps[:, c] ** 2 for c in range(maps.shape[1])) / maps.shape[1]
    sized = F.interpolate(mean[:, None], (32, 48), mode="bilinear")[:, 0]
    found = attention(net, x)
    assert found.shape == (2, 32, 48)
    torch.testing.assert_close(found, sized / sized.amax((1, 2), keepdim=True))


@pytest.mark.parametrize(("row", "column"), [(4, 4), (48, 8), (20, 44)])
def test_it_is_where_the_only_thing_is(row: int, column: int) -> None:
    """Without biases, nothing is active where all is black."""
    x = torch.zeros(1, 3, 64, 64)
    x[:, :, row : row + 8, column : column + 8] = 1
    net = DeepResNet(18, None, width=0.125, side=32)
    initialise(net, 0)
    found = attention(net.eval(), x, stage=1)[0]
    top, left = divmod(int(found.argmax()), 64)
    assert abs(top - row - 4) <= 8
    assert abs(left - column - 4) <= 8
    assert float(found.max()) == 1


def test_a_black_frame_has_none() -> None:
    assert float(attention(network(), torch.zeros(1, 3, 32, 32)).abs().max()) == 0
