"""Convolutions and batch norms whose gradient can be differentiated once more at a fair price.

PyTorch differentiates the gradient of a convolution by convolutions with kernels as large as the
image, and that of a batch norm by some thirty passes over the data; on a CPU both together take
half of the time of a second-order step (`withhold bench clip-speed`). Both have short closed forms.

A convolution y = x * w is linear in x and in w. With B_x(g, w) and B_w(g, x) its two gradients,
and a, b what comes back to them,

    <a, B_x(g, w)> + <b, B_w(g, x)>  =  <g, a * w + x * b>

so the gradients by g, x and w are  a * w + x * b,  B_x(g, b)  and  B_w(g, a).

A batch norm y = gamma x^ + beta, x^ = r (x - mean), r = 1 / deviation, has the gradients
gamma r P g,  sum g x^  and  sum g,  with  P g = g - E g - x^ E[g x^]  and E the mean over all but
the channels. With a, b, c what comes back to them, T = <a, gamma r P g> and n the values of a
channel, the gradients are

    by g:      gamma r P a + b x^ + c
    by gamma:  T / gamma
    by x:      - r T x^ / n - gamma r^2 (E[g x^] P a + E[a x^] P g) + b r P g

(d r = - r^2 E[x^ dx] and d x^ = r P dx give the last one).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

_Shape = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]  # stride, padding, ...


class SecondGradients(TorchFunctionMode):
    """Inside, convolutions and batch norms of a training network are the ones of this file."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call `func`, or what this file has in its place."""
        ours = _OURS.get(func)
        found = None if ours is None else ours(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {})) if found is None else found


def _refuse_more() -> None:
    """There is no formula for third derivatives here, so no wrong one either.

    `once_differentiable` would let `autograd.grad` walk around its error, and return a part.
    """
    if torch.is_grad_enabled():
        raise RuntimeError("third derivatives cannot be had inside SecondGradients")


def _apply(function: type[torch.autograd.Function], *inputs: Any) -> Any:
    return function.apply(*inputs)


def _convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor | None:
    """As functional.conv2d; None for what is left to PyTorch."""
    if isinstance(padding, str) or x.dim() != weight.dim():
        return None
    shape = (*(_each(v, x.dim() - 2) for v in (stride, padding, dilation)), groups)
    made: Tensor = _apply(_Convolution, x, weight, shape)
    return made if bias is None else made + bias.view(-1, *[1] * (x.dim() - 2))


def _each(value: Any, dimensions: int) -> tuple[int, ...]:
    return (value,) * dimensions if isinstance(value, int) else tuple(value)


def _convolved(x: Tensor, weight: Tensor, shape: _Shape) -> Tensor:
    stride, padding, dilation, groups = shape
    made: Tensor = torch.ops.aten.convolution(
        x, weight, None, stride, padding, dilation, False, [0] * len(stride), groups
    )
    return made


def _passed_back(
    g: Tensor, x: Tensor, weight: Tensor, shape: _Shape, wanted: tuple[bool, bool]
) -> tuple[Tensor | None, Tensor | None]:
    """B_x(g, weight) and B_w(g, x), where they are wanted."""
    stride, padding, dilation, groups = shape
    by_x, by_weight, _ = torch.ops.aten.convolution_backward(
        g, x, weight, None, stride, padding, dilation, False, [0] * len(stride), groups,
        (*wanted, False),
    )  # fmt: skip
    return by_x, by_weight


class _Convolution(torch.autograd.Function):
    """x * w."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, shape: _Shape) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.shape = shape
        return _convolved(x, weight, shape)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        wanted = (ctx.needs_input_grad[0], ctx.needs_input_grad[1])
        by_x, by_weight = _apply(_ConvolutionGradient, g, *ctx.saved_tensors, ctx.shape, wanted)
        return by_x, by_weight, None


class _ConvolutionGradient(torch.autograd.Function):
    """B_x(g, w) and B_w(g, x)."""

    @staticmethod
    def forward(
        ctx: Any, g: Tensor, x: Tensor, weight: Tensor, shape: _Shape, wanted: tuple[bool, bool]
    ) -> tuple[Tensor | None, Tensor | None]:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(g, x, weight)
        ctx.shape = shape
        return _passed_back(g, x, weight, shape, wanted)

    @staticmethod
    def backward(ctx: Any, a: Tensor | None, b: Tensor | None) -> tuple[Tensor | None, ...]:
        _refuse_more()
        g, x, weight = ctx.saved_tensors
        by_g: Tensor | None = None
        if ctx.needs_input_grad[0]:
            parts = [] if a is None else [_convolved(a, weight, ctx.shape)]
            parts += [] if b is None else [_convolved(x, b, ctx.shape)]
            by_g = _sum(parts)
        wanted = (
            ctx.needs_input_grad[1] and b is not None,
            ctx.needs_input_grad[2] and a is not None,
        )
        by_x = by_weight = None
        if any(wanted):
            # What is not wanted is not looked at, but must have its shape.
            by_x, by_weight = _passed_back(
                g, x if a is None else a, weight if b is None else b, ctx.shape, wanted
            )
        return by_g, by_x, by_weight, None, None


def _sum(parts: list[Tensor]) -> Tensor | None:
    return None if not parts else parts[0] if len(parts) == 1 else parts[0].add_(parts[1])


def _batch_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor | None:
    """As functional.batch_norm; None for what is left to PyTorch."""
    if not training or weight is None or bias is None:
        return None
    if x.numel() == x.shape[1]:  # one value a channel has no deviation: PyTorch says so
        return None
    made: Tensor = _apply(_BatchNorm, x, weight, bias, running_mean, running_var, momentum, eps)
    return made


class _BatchNorm(torch.autograd.Function):
    """gamma x^ + beta, with the mean and the deviation of the batch."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        momentum: float,
        eps: float,
    ) -> Tensor:
        made: Tensor
        made, mean, r = torch.ops.aten.native_batch_norm(
            x, weight, bias, running_mean, running_var, True, momentum, eps
        )
        ctx.save_for_backward(x, weight, mean, r)
        ctx.eps = eps
        return made

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        found = _apply(_BatchNormGradient, g, *ctx.saved_tensors, ctx.eps)
        return (*found, None, None, None, None)


class _BatchNormGradient(torch.autograd.Function):
    """gamma r P g, sum g x^ and sum g."""

    @staticmethod
    def forward(
        ctx: Any, g: Tensor, x: Tensor, weight: Tensor, mean: Tensor, r: Tensor, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        by_x, by_weight, by_bias = _normed_back(g, x, weight, mean, r, eps)
        ctx.save_for_backward(g, x, weight, mean, r, by_weight, by_bias)
        ctx.eps = eps
        return by_x, by_weight, by_bias

    @staticmethod
    def backward(ctx: Any, a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor | None, ...]:
        _refuse_more()
        g, x, weight, mean, r, sum_gx, sum_g = ctx.saved_tensors
        count = x.numel() // x.shape[1]
        projected, sum_ax, sum_a = _normed_back(a, x, weight, mean, r, ctx.eps)
        nothing, one = torch.zeros_like(r), torch.ones_like(r)
        # sum a g: g in the place of x^, since the mean is 0 and the deviation 1.
        ag = _normed_back(a, g, one, nothing, one, ctx.eps, by_x=False)[1]
        inner = ag - (sum_a * sum_g + sum_ax * sum_gx) / count  # <a, P g>
        by_weight = r * inner
        of_g = r * (b - weight * r * sum_ax / count)  # what P g counts in the gradient by x
        of_a = -weight * r * r * sum_gx / count
        of_x = -(r * weight * by_weight + of_a * sum_ax + of_g * sum_gx) / count
        rest = -(of_a * sum_a + of_g * sum_g) / count
        by_x = _affine(x, of_x, rest, mean, r)
        by_x.addcmul_(a, _beside(of_a, x)).addcmul_(g, _beside(of_g, x))
        by_g = _affine(x, b, c, mean, r).add_(projected)
        return by_g, by_x, by_weight, None, None, None


def _normed_back(
    g: Tensor,
    x: Tensor,
    weight: Tensor,
    mean: Tensor,
    r: Tensor,
    eps: float,
    *,
    by_x: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """gamma r P g (only if `by_x`), sum g x^ and sum g."""
    found: tuple[Tensor, Tensor, Tensor] = torch.ops.aten.native_batch_norm_backward(
        g, x, weight, None, None, mean, r, True, eps, (by_x, True, True)
    )
    return found


def _affine(x: Tensor, scale: Tensor, shift: Tensor, mean: Tensor, r: Tensor) -> Tensor:
    """scale x^ + shift, channel by channel; the batch norm of PyTorch does it in one pass."""
    variance = r.pow(-2)
    made: Tensor = torch.ops.aten.native_batch_norm(
        x, scale, shift, mean, variance, False, 0.0, 0.0
    )[0]
    return made


def _beside(values: Tensor, x: Tensor) -> Tensor:
    """A value a channel, to be multiplied with x."""
    return values.view(-1, *[1] * (x.dim() - 2))


_OURS: dict[Any, Callable[..., Tensor | None]] = {
    functional.conv2d: _convolution,
    functional.conv3d: _convolution,
    functional.batch_norm: _batch_norm,
}
