"""The networks of `gap` and `replace`: the sizes that the papers give."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import nn

from withhold.learn.nets.resnet import Pointwise, ResNet
from withhold.learn.nets.unet import UNet


def parameters(network: torch.nn.Module) -> int:
    return sum(p.numel() for p in network.parameters())


def test_resnet18_has_the_published_number_of_parameters() -> None:
    assert parameters(ResNet(224, 1000)) == 11_689_512  # torchvision's resnet18


def test_resnet10_has_one_block_a_stage() -> None:
    blocks = len(ResNet(64, 3, width=8, blocks=1).stages)
    assert (blocks, len(ResNet(64, 3, width=8).stages)) == (4, 8)


@pytest.mark.parametrize(("side", "first"), [(32, 32), (64, 16), (128, 32)])
def test_the_stem_shrinks_large_images_only(side: int, first: int) -> None:
    net = ResNet(side, 4, width=8)
    x = torch.rand(2, 3, side, side)
    assert net.stem(x).shape == (2, 8, first, first)
    assert net(x).shape == (2, 4)


def test_widths_of_the_unet_are_those_of_the_paper() -> None:
    net = UNet(64, width=32, depth=4, noise=1024)
    assert [block[0].out_channels for block in net.down] == [32, 64, 128, 256, 512]
    assert [block[0].in_channels for block in net.up] == [
        2 * 512 + 256,
        256 + 128,
        128 + 64,
        64 + 32,
    ]
    assert net.noise.weight.shape == (512 * 4 * 4, 1024)


def test_image_noise_and_class_all_reach_the_result() -> None:
    torch.manual_seed(0)
    net = UNet(16, width=4, depth=2, noise=8, classes=3).eval()
    x, z, label = torch.rand(2, 3, 16, 16), torch.randn(2, 8), torch.tensor([0, 1])
    made = net(x, z, label)
    assert made.shape == x.shape
    assert ((made > 0) & (made < 1)).all()
    for other in (net(x, z + 1, label), net(x, z, (label + 1) % 3)):
        assert ((other - made).abs() > 0).double().mean() > 0.5
    moved = x.clone()
    moved[0] = 1 - moved[0]
    changed = (net(moved, z, label) - made).abs().amax(dim=(1, 2, 3))
    assert changed[0] > 0
    assert changed[1] == 0


def test_a_pointwise_convolution_is_the_strided_one() -> None:
    layer = Pointwise(8, 16, 1, stride=2, bias=False)
    x = torch.rand(7, 8, 9, 12)
    torch.testing.assert_close(layer(x), nn.functional.conv2d(x, layer.weight, stride=2))


def test_narrow_networks_on_odd_batches_do_not_corrupt_memory() -> None:
    """In a process of its own: the strided kernel of oneDNN ended it."""
    code = """
import torch
from torch import nn
from withhold.learn.nets.resnet import Pointwise, ResNet
torch.set_num_threads(2)
for width, batch in ((8, 7), (4, 5), (12, 3)):
    network = ResNet(32, 2, width=width, blocks=1).to(memory_format=torch.channels_last)
    for _ in range(4):
        x = torch.rand(batch, 3, 32, 32).contiguous(memory_format=torch.channels_last)
        network(x.requires_grad_()).sum().backward()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
