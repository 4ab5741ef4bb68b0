"""The convolutions of a training step alone, to time the step against them.

A step of several networks is recorded once: every call of a convolution, and which gradients the
step asks of it. `BareConvolutions.run` then does the same on tensors of the same shapes and memory
layouts, and nothing else: no batch norms, losses or optimisers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

Convolution = nn.Conv2d | nn.Conv3d


@dataclass(eq=False)
class ConvolutionCall:
    """One call of a layer. `data` and `weight`: the gradients that the step asks for."""

    layer: Convolution
    x: Tensor
    data: bool
    weight: bool
    passed_back: bool = False
    gradient: Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.gradient = torch.rand_like(self.forward())

    def forward(self) -> Tensor:
        """The output."""
        layer = self.layer
        found: Tensor = torch.ops.aten.convolution(
            self.x, layer.weight.detach(), None, *self._shape(), layer.groups
        )
        return found

    def backward(self) -> None:
        """The gradients."""
        layer = self.layer
        torch.ops.aten.convolution_backward(
            self.gradient, self.x, layer.weight.detach(), None, *self._shape(), layer.groups,
            (self.data, self.weight, False),
        )  # fmt: skip

    def _shape(self) -> tuple[Any, ...]:
        layer = self.layer
        padding = [int(p) for p in layer.padding]
        return layer.stride, padding, layer.dilation, False, [0] * len(padding)


class BareConvolutions:
    """The calls of a step, in the order of its parts."""

    def __init__(self) -> None:
        self.parts: list[list[ConvolutionCall]] = []

    @contextmanager
    def recorded(self, learner: nn.Module, readers: Iterable[nn.Module] = ()) -> Iterator[None]:
        """Record a part of the step, in which the weights of `learner` get a gradient.

        Its loss passes back through `readers`, whose weights get none.
        """
        calls: list[ConvolutionCall] = []
        hooks = []
        for network, learns in ((learner, True), *((r, False) for r in readers)):
            for layer in network.modules():
                if isinstance(layer, Convolution):
                    hooks.append(layer.register_forward_hook(_noting(calls, learns)))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()
        self.parts.append(calls)

    def run(self) -> None:
        """All calls, forward and then backward in every part."""
        for calls in self.parts:
            for call in calls:
                call.forward()
            for call in reversed(calls):
                if call.passed_back:
                    call.backward()


def _noting(calls: list[ConvolutionCall], learns: bool) -> Callable[..., None]:
    def note(layer: Convolution, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        call = ConvolutionCall(layer, inputs[0].detach().clone(), inputs[0].requires_grad, learns)
        calls.append(call)
        if output.requires_grad:  # a network whose loss does not count is not passed back

            def passed(_: Tensor) -> None:
                call.passed_back = True

            output.register_hook(passed)

    return note
