"""Second derivatives of convolutions and batch norms: the same as PyTorch's own, to rounding."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch import Tensor, nn

from withhold.learn.second_gradients import SecondGradients


def _network(dimensions: int) -> nn.Sequential:
    """Strides, groups, dilation, biases and a channel whose gamma is 0."""
    conv = {2: nn.Conv2d, 3: nn.Conv3d}[dimensions]
    norm = {2: nn.BatchNorm2d, 3: nn.BatchNorm3d}[dimensions]
    second = norm(4)
    network = nn.Sequential(
        conv(3, 4, 3, padding=1, stride=2),
        norm(4),
        nn.ReLU(inplace=True),
        conv(4, 4, 3, groups=4, padding=2, dilation=2, bias=False),
        second,
        nn.Sigmoid(),
        conv(4, 6, 1, groups=2),
    ).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in network.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator, dtype=torch.float64))
        second.weight[1] = 0
    return network


def _derivatives(
    network: nn.Module, x: Tensor, inputs: list[Tensor], *, ours: bool
) -> tuple[Tensor, ...]:
    """The loss, its gradient, and the product of the Hessian with a random vector."""
    generator = torch.Generator().manual_seed(1)
    v = [torch.randn(p.shape, generator=generator, dtype=torch.float64) for p in inputs]
    with SecondGradients() if ours else nullcontext():
        loss = network(x).pow(3).mean()
    g = torch.autograd.grad(loss, inputs, create_graph=True)
    product = torch.autograd.grad(g, inputs, grad_outputs=v, materialize_grads=True)
    return loss.detach(), *(part.detach() for part in g), *product


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("channels_last", [False, True])
def test_same_as_pytorch(dimensions: int, channels_last: bool) -> None:
    """Loss, gradient and Hessian product, by weights and by the input."""
    network = _network(dimensions)
    layout = {2: torch.channels_last, 3: torch.channels_last_3d}[dimensions]
    x = torch.rand(5, 3, *[8] * dimensions, dtype=torch.float64)
    x = (x.to(memory_format=layout) if channels_last else x).requires_grad_()
    inputs = [*network.parameters(), x]
    theirs = _derivatives(network, x, inputs, ours=False)
    ours = _derivatives(network, x, inputs, ours=True)
    for a, b in zip(theirs, ours, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-10, atol=1e-12)


def test_through_a_frozen_network() -> None:
    """The weights of a reader need no gradient; what it reads does."""
    network = _network(2).requires_grad_(False)
    x = torch.rand(5, 3, 8, 8, dtype=torch.float64, requires_grad=True)
    theirs = _derivatives(network, x, [x], ours=False)
    ours = _derivatives(network, x, [x], ours=True)
    for a, b in zip(theirs, ours, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-10, atol=1e-12)


def test_by_finite_differences() -> None:
    """gradgradcheck knows nothing of PyTorch's formulas."""
    x = torch.rand(3, 2, 4, 4, dtype=torch.float64, requires_grad=True)
    kernel = torch.rand(2, 2, 3, 3, dtype=torch.float64, requires_grad=True)
    gamma = torch.rand(2, dtype=torch.float64, requires_grad=True)
    beta = torch.rand(2, dtype=torch.float64, requires_grad=True)

    def layers(x: Tensor, kernel: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        with SecondGradients():
            h = nn.functional.conv2d(x, kernel, padding=1)
            return nn.functional.batch_norm(h, None, None, gamma, beta, training=True).pow(2)

    assert torch.autograd.gradcheck(layers, (x, kernel, gamma, beta))
    assert torch.autograd.gradgradcheck(layers, (x, kernel, gamma, beta))


def test_running_statistics_move_once() -> None:
    """As far as with PyTorch's batch norm."""
    moved = []
    x = torch.rand(5, 3, 8, 8, dtype=torch.float64, requires_grad=True)
    for ours in (False, True):
        network = _network(2)
        _derivatives(network, x, [x], ours=ours)
        moved.append({name: b.clone() for name, b in network.named_buffers()})
    for name, buffer in moved[0].items():
        torch.testing.assert_close(moved[1][name], buffer)


def test_a_frozen_norm_is_left_to_pytorch() -> None:
    """In evaluation a batch norm is linear, and PyTorch differentiates it well."""
    network = _network(2).eval()
    x = torch.rand(5, 3, 8, 8, dtype=torch.float64, requires_grad=True)
    theirs = _derivatives(network, x, [x], ours=False)
    for a, b in zip(theirs, _derivatives(network, x, [x], ours=True), strict=True):
        torch.testing.assert_close(b, a, rtol=1e-10, atol=1e-12)


def test_third_derivatives_are_refused() -> None:
    """Otherwise a part of them would be returned for the whole."""
    x = torch.rand(3, 2, 4, 4, dtype=torch.float64, requires_grad=True)
    kernel = torch.rand(2, 2, 3, 3, dtype=torch.float64, requires_grad=True)
    with SecondGradients():
        loss = nn.functional.conv2d(x, kernel).pow(3).sum()
    (g,) = torch.autograd.grad(loss, [x], create_graph=True)
    with pytest.raises(RuntimeError, match="third derivatives"):
        torch.autograd.grad(g.pow(2).sum(), [x], create_graph=True)
