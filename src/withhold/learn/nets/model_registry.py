"""Image and clip models by name: action models, privacy models and attackers.

`width` multiplies the widths of the published network (1.0) everywhere, so that a setting means the
same for each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import nn

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.learn.nets.c3d_net import C3DNet
from withhold.learn.nets.deep_resnet import DEPTHS, DeepResNet
from withhold.learn.nets.inception import Inception
from withhold.learn.nets.mobilenet_v1 import MobileNetV1
from withhold.learn.nets.mobilenet_v2 import MobileNetV2
from withhold.learn.nets.r2plus1d18_net import R2Plus1D18Net
from withhold.learn.nets.r3d18_net import R3D18Net
from withhold.learn.nets.r3d50_net import R3D50Net

_Make = Callable[..., nn.Module]
_IMAGE: dict[str, _Make] = {
    **{f"resnet{depth}": partial(DeepResNet, depth) for depth in DEPTHS},
    **{f"resnet{depth}-v2": partial(DeepResNet, depth, preactivated=True) for depth in DEPTHS},
    "mobilenet-v1": MobileNetV1,
    "mobilenet-v2": MobileNetV2,
    "inception-v1": Inception,
    "inception-v2": partial(Inception, version=2),
}
_CLIP: dict[str, _Make] = {
    "r3d18": R3D18Net,
    "r2plus1d18": R2Plus1D18Net,
    "r3d50": R3D50Net,
    "c3d": C3DNet,
}
IMAGE_MODELS = tuple(_IMAGE)
CLIP_MODELS = tuple(_CLIP)


def image_model(
    name: str, classes: int | None, *, width: float = 1.0, side: int = 224
) -> nn.Module:
    """A network for frames (b, 3, h, w); `classes` None gives features (b, network.dimension).

    `side` is the shorter side of the frames; it changes strides and no parameter.
    """
    return image_model_named(name, width)(classes, width=width, side=side)


def clip_model(name: str, classes: int | None, *, width: float = 1.0) -> nn.Module:
    """A network for clips (b, 3, t, h, w); `classes` None gives features (b, network.dimension)."""
    return clip_model_named(name, width)(classes, width=width)


def image_model_named(name: str, width: float) -> Callable[..., nn.Module]:
    """The class of an image model; raises `UserError` for an unknown name or width."""
    return _find(_IMAGE, "image", name, width)


def clip_model_named(name: str, width: float) -> Callable[..., nn.Module]:
    """The class of a clip model; raises `UserError` for an unknown name or width."""
    return _find(_CLIP, "clip", name, width)


def _find(models: dict[str, _Make], kind: str, name: str, width: float) -> _Make:
    if name not in models:
        raise UserError(
            f"there is no {kind} model '{name}'{did_you_mean(name, models)}"
            f" ({kind} models: {listing(models, most=20)})"
        )
    if not 0 < width <= 4:
        raise UserError(
            f"the width of {kind} model '{name}' is {width}; it multiplies the published widths"
            " and must be above 0 and at most 4"
        )
    return models[name]
