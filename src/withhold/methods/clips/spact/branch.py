"""f_B: the branch that learns what is in frames without privacy labels.

contrastive      NT-Xent between two frames of a clip (SPAct, Eq. 4)
rotnet           cross-entropy of the rotation of a frame: 0, 90, 180 or 270 degrees
spatio-temporal  NT-Xent between the two halves of a clip
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from withhold.learn.losses.nt_xent import nt_xent
from withhold.learn.nets.channels_last import channels_last
from withhold.learn.nets.model_registry import clip_model, image_model
from withhold.learn.nets.perceptron import unit
from withhold.methods.clips.clip_config import model_and_width
from withhold.methods.clips.networks import clip_scores, draw_frames, pick_frames, started
from withhold.methods.clips.spact.config import SpactConfig

TURNS = 4


class Branch(nn.Module, ABC):
    """A loss of clips (b, t, 3, h, w) in [0, 1]; f_B minimises it and f_A maximises it."""

    @abstractmethod
    def draw(self, clips: int, frames: int, generator: torch.Generator) -> Tensor:
        """What of the clips is looked at in a step."""

    @abstractmethod
    def loss(self, x: Tensor, drawn: Tensor) -> Tensor:
        """The loss of the branch."""


class Contrastive(Branch):
    """Which frames belong to one clip: z = P(F(frame)), compared by their cosine."""

    def __init__(self, config: SpactConfig) -> None:
        super().__init__()
        name, width = model_and_width(config.branch_model)
        side = min(config.height, config.width)
        self.features = image_model(name, None, width=width, side=side)
        self.projector = _projector(self.features, config.projection)
        self.temperature = config.temperature

    def draw(self, clips: int, frames: int, generator: torch.Generator) -> Tensor:
        """Two different frames of each clip, (b, 2)."""
        return draw_frames(clips, frames, 2, generator)

    def loss(self, x: Tensor, drawn: Tensor) -> Tensor:
        """NT-Xent: the frames of a clip are a positive pair."""
        z = unit(self.projector(self.features(pick_frames(x, drawn)))).view(len(x), 2, -1)
        return nt_xent(z[:, 0], z[:, 1], temperature=self.temperature)


class RotNet(Branch):
    """How a frame was rotated. A square from its middle is turned, so that shapes tell nothing."""

    def __init__(self, config: SpactConfig) -> None:
        super().__init__()
        name, width = model_and_width(config.branch_model)
        self.side = min(config.height, config.width)
        self.scores = image_model(name, TURNS, width=width, side=self.side)

    def draw(self, clips: int, frames: int, generator: torch.Generator) -> Tensor:
        """A frame of each clip, and its quarter turns: (b, 2)."""
        turns = torch.randint(TURNS, (clips, 1), generator=generator)
        return torch.cat([draw_frames(clips, frames, 1, generator), turns], dim=1)

    def loss(self, x: Tensor, drawn: Tensor) -> Tensor:
        """Cross-entropy of the quarter turns."""
        turns = drawn[:, 1].to(x.device)
        top, left = (x.shape[3] - self.side) // 2, (x.shape[4] - self.side) // 2
        square = x[:, :, :, top : top + self.side, left : left + self.side]
        frames = pick_frames(square, drawn[:, :1])
        turned = [torch.rot90(f, int(k), (1, 2)) for f, k in zip(frames, turns, strict=True)]
        return F.cross_entropy(self.scores(channels_last(torch.stack(turned))), turns)


class SpatioTemporal(Branch):
    """Which halves belong to one clip, by the features of an R3D-18."""

    def __init__(self, config: SpactConfig) -> None:
        super().__init__()
        _, width = model_and_width(config.branch_model)
        self.features = clip_model("r3d18", None, width=width)
        self.projector = _projector(self.features, config.projection)
        self.temperature = config.temperature

    def draw(self, clips: int, frames: int, generator: torch.Generator) -> Tensor:
        """Nothing: both halves are used."""
        del frames, generator
        return torch.zeros(clips, 0)

    def loss(self, x: Tensor, drawn: Tensor) -> Tensor:
        """NT-Xent: the halves of a clip are a positive pair."""
        del drawn
        half = x.shape[1] // 2
        halves = torch.cat([x[:, :half], x[:, half : 2 * half]])
        one, two = self.projector(clip_scores(self.features, halves)).chunk(2)
        return nt_xent(one, two, temperature=self.temperature)


_BRANCHES: dict[str, type[Contrastive | RotNet | SpatioTemporal]] = {
    "contrastive": Contrastive,
    "rotnet": RotNet,
    "spatio-temporal": SpatioTemporal,
}


def make_branch(config: SpactConfig, seed: int, device: torch.device) -> Branch:
    """The branch of the settings, its weights drawn from the seed."""
    return started(_BRANCHES[config.branch](config), seed, device, "branch", config.branch)


def _projector(features: nn.Module, outputs: int) -> nn.Sequential:
    """Linear(d, d), ReLU, Linear(d, outputs)."""
    dimension = features.dimension
    assert isinstance(dimension, int)
    return nn.Sequential(
        nn.Linear(dimension, dimension), nn.ReLU(inplace=True), nn.Linear(dimension, outputs)
    )
