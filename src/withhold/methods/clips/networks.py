"""How the networks of all methods on clips are made and called. A clip is (b, t, 3, h, w)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor, nn

from withhold.learn.nets.channels_last import channels_last, to_channels_last
from withhold.learn.nets.model_registry import clip_model, image_model
from withhold.learn.nets.unet import UNet
from withhold.learn.training import initialise
from withhold.methods.clips.clip_config import ClipConfig, model_and_width
from withhold.methods.clips.frame_modifier import FrameSettings

N = TypeVar("N", bound=nn.Module)
Frames = Callable[[Tensor], Tensor]  # frames (n, 3, h, w) to frames, or to scores


def make_anonymiser(config: ClipConfig, seed: int, device: torch.device) -> UNet:
    """The U-Net, its weights drawn from the seed."""
    return started(FrameSettings.of(config).network(), seed, device, "anonymiser")


def make_action_model(
    config: ClipConfig, classes: int, seed: int, device: torch.device
) -> nn.Module:
    """The network that recognises the preserved attributes."""
    name, width = model_and_width(config.action_model)
    return started(clip_model(name, classes, width=width), seed, device, "action model")


def make_frame_model(
    text: str, classes: int | None, config: ClipConfig, seed: int, device: torch.device, *names: str
) -> nn.Module:
    """A network that reads frames: class scores, or features if `classes` is None."""
    name, width = model_and_width(text)
    side = min(config.height, config.width)
    return started(image_model(name, classes, width=width, side=side), seed, device, *names)


def started(network: N, seed: int, device: torch.device, *names: object) -> N:
    """The network with weights drawn from the seed; channels last, which convolutions prefer."""
    initialise(network, seed, *names)
    to_channels_last(network, device)
    return network


def adam(network: nn.Module, rate: float) -> torch.optim.Adam:
    """Adam for the weights of a network."""
    fused = next(network.parameters()).device.type in ("cpu", "cuda")
    return torch.optim.Adam(network.parameters(), rate, fused=fused)


def anonymise(change: Frames, x: Tensor) -> Tensor:
    """Every frame of the clips, changed."""
    frames = channels_last(x.flatten(0, 1))
    return change(frames).view_as(x)


def clip_scores(network: Frames, x: Tensor) -> Tensor:
    """What a clip model says of clips: (b, classes)."""
    return network(channels_last(x.transpose(1, 2)))


def pick_frames(x: Tensor, numbers: Tensor) -> Tensor:
    """The frames `numbers` (b, k) of the clips, one after another: (b k, 3, h, w)."""
    rows = torch.arange(len(x), device=x.device)[:, None]
    return channels_last(x[rows, numbers.to(x.device)].flatten(0, 1))


def draw_frames(clips: int, frames: int, count: int, generator: torch.Generator) -> Tensor:
    """Numbers of `count` different frames for each clip, (clips, count)."""
    return torch.rand(clips, frames, generator=generator).argsort(1)[:, :count]


@contextmanager
def frozen(*networks: nn.Module) -> Iterator[None]:
    """No weight of the networks needs a gradient inside."""
    for network in networks:
        network.requires_grad_(False)
    try:
        yield
    finally:
        for network in networks:
            network.requires_grad_(True)
