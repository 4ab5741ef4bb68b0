"""Inception-ResNet v1, against what facenet-pytorch 2.6.0 computes with the same weights."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from withhold.learn.nets.inception_resnet import InceptionResnetV1


@pytest.fixture(scope="module")
def network() -> InceptionResnetV1:
    """Weights by formula, so that another implementation can be given the same."""
    network = InceptionResnetV1().eval().requires_grad_(False)
    for i, (name, values) in enumerate(network.state_dict().items()):
        if not values.dtype.is_floating_point:
            continue
        count = torch.arange(values.numel(), dtype=torch.float64)
        wave = torch.sin(count * 0.7 + i).reshape(values.shape)
        if values.ndim > 1:
            values.copy_(wave * math.sqrt(3 / values[0].numel()))
        elif "bias" in name or "mean" in name:
            values.copy_(0.1 * wave)
        else:
            values.copy_(1 + 0.3 * wave)
    return network


def waves(side: int) -> Tensor:
    steps = torch.arange(side, dtype=torch.float64)
    y, x = torch.meshgrid(steps, steps, indexing="ij")
    parts = [torch.sin(x / (5 + c) + c) * torch.cos(y / (7 - c)) for c in range(3)]
    return torch.stack(parts)[None].float()


def test_the_same_numbers_as_the_published_network(network: InceptionResnetV1) -> None:
    x = network(waves(160))
    want = [0.01355613, 0.02524060, -0.06604462, 0.05956502, 0.00982518, -0.06466445]
    torch.testing.assert_close(x[0, :6], torch.tensor(want), atol=1e-5, rtol=0)
    assert x.shape == (1, 512)
    assert math.isclose(float(x.norm()), 1, abs_tol=1e-5)


def test_parameters_have_the_published_names_and_shapes(network: InceptionResnetV1) -> None:
    state = network.state_dict()
    assert sum(p.numel() for p in network.parameters()) == 23_482_624
    for name, shape in {
        "conv2d_1a.conv.weight": (32, 3, 3, 3),
        "conv2d_4b.bn.running_var": (256,),
        "repeat_1.4.branch2.2.conv.weight": (32, 32, 3, 3),
        "mixed_6a.branch0.conv.weight": (384, 256, 3, 3),
        "repeat_2.9.branch1.2.conv.weight": (128, 128, 7, 1),
        "repeat_2.0.conv2d.bias": (896,),
        "mixed_7a.branch2.2.bn.weight": (256,),
        "block8.branch1.1.conv.weight": (192, 192, 1, 3),
        "last_linear.weight": (512, 1792),
        "last_bn.running_mean": (512,),
    }.items():
        assert tuple(state[name].shape) == shape
