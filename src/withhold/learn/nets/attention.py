"""Where a network looks: activation attention (Zagoruyko and Komodakis, 2017)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from withhold.learn.nets.deep_resnet import DeepResNet


@torch.no_grad()
def attention(network: DeepResNet, frames: Tensor, *, stage: int = 3) -> Tensor:
    """The mean over channels of the squared activations after a stage, at the size of the frames.

    Frames (b, 3, h, w) to (b, h, w), each divided by its maximum. SPAct shows the third stage.
    """
    found = network.maps(frames, stage).square().mean(dim=1, keepdim=True)
    sized = F.interpolate(found, frames.shape[2:], mode="bilinear", align_corners=False)[:, 0]
    return sized / sized.amax(dim=(1, 2), keepdim=True).clamp(min=1e-12)
