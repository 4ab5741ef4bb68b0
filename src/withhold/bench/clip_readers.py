"""Target models of `kind: clips`: networks by name that learn an attribute from released clips.

They are trained as the attackers of an audit are: AdamW, cosine rate, the best epoch on val.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from withhold.audit.attackers.clip_cnn import AveragedNet, FrameCnn
from withhold.audit.attackers.pixel_cnn import PixelNet, PixelPrediction, shifted
from withhold.bench.clip_settings import ClipSettings
from withhold.learn.nets.model_registry import CLIP_MODELS, clip_model, image_model
from withhold.learn.nets.multiply_adds import multiply_adds
from withhold.learn.training import initialise
from withhold.media.weights import load_into
from withhold.media.windows import equidistant_windows, span
from withhold.methods.clips.clip_config import model_and_width
from withhold.records.attribute import Attribute

Colour = tuple[float, float, float]
_MULTIPLY_ADDS = 1.6e10  # of training a second on one core, forward and backward


def target_model(model: str, how: ClipSettings) -> NamedReader:
    """The network of this name, with the effort that the recipe sets."""
    name, _ = model_and_width(model)
    of_clips = name in CLIP_MODELS
    return (NamedClipReader if of_clips else NamedReader)(
        model=model,
        images=how.clips_shown if of_clips else how.frames_shown,
        most_epochs=how.most_epochs,
        # A deep network with batch norms may stay at chance for several short epochs.
        patience=20,
        batch=how.batch,
        rate=how.rate,
        at_once=1,
        frames=how.frames,
        step=how.step,
        windows=how.windows,
        weights=os.path.expandvars(how.pretrained.get(model, "")),
    )


IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
KINETICS = (0.43216, 0.394666, 0.37645), (0.22803, 0.22145, 0.216989)


@dataclass(frozen=True)
class NamedReader(FrameCnn):
    """An image network on single frames of clips (n, t, 3, h, w), averaged over frames."""

    colours: ClassVar[tuple[Colour, Colour]] = IMAGENET  # mean and deviation
    model: str = "resnet18:0.25"
    frames: int = 8
    step: int = 1
    windows: int = 10
    weights: str = ""  # a file of published weights to start from

    def fit(
        self,
        x: npt.NDArray[Any],
        attribute: Attribute,
        x_val: npt.NDArray[Any],
        attribute_val: Attribute,
        *,
        seed: int,
    ) -> PixelPrediction:
        """Train on clips x, from published weights if there are any."""
        own = self
        x_val = self.judged(x_val)
        if self.weights and self.start is None:
            own = replace(self, start=self._published(x, attribute, seed))
        return super(NamedReader, own).fit(x, attribute, x_val, attribute_val, seed=seed)

    def judged(self, clips: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What the choice of an epoch reads: two frames of each clip, to save time."""
        t = clips.shape[1]
        return clips[:, sorted({t // 4, 3 * t // 4})]

    def _published(
        self, x: npt.NDArray[Any], attribute: Attribute, seed: int
    ) -> dict[str, npt.NDArray[Any]]:
        """The state of a network with published weights, and a head drawn from the seed."""
        network = self.network_for(x, attribute)
        initialise(network, seed, "head", attribute.name)
        load_into(network.scores, self.weights, ignore=("fc.", "classifier."))
        mean, deviation = self.colours
        network.mean.copy_(255 * torch.tensor(mean)[:, None, None])
        network.scale.copy_(255 * torch.tensor(deviation)[:, None, None])
        return {k: np.array(v.numpy()) for k, v in network.state_dict().items()}

    def scores(self, side: int, classes: int, channels: int) -> nn.Module:
        """The network that reads one frame."""
        name, width = model_and_width(self.model)
        return image_model(name, classes, width=width, side=side)

    def loaded_for(
        self, x: npt.NDArray[Any], attribute: Attribute, state: dict[str, npt.NDArray[Any]]
    ) -> PixelPrediction:
        """A fitted state as the model that it was, for clips like x."""
        network = self.network_for(x, attribute)
        network.load_state_dict({k: torch.tensor(v) for k, v in state.items()})
        return PixelPrediction(network.eval())

    def seconds_for(self, n: int, clip: tuple[int, ...]) -> float:
        """Estimated seconds of a fit on n clips (t, 3, h, w), on one core."""
        network = self.scores(min(clip[-2:]), 2, 3)
        each = multiply_adds(network, *self.sample(clip))
        return 1.0 + 3.0 * each * 0.7 * n * self.at_once * self.epochs(n) / _MULTIPLY_ADDS

    def sample(self, clip: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of what the network reads at once, of a clip (t, 3, h, w)."""
        return tuple(clip[1:])


@dataclass(frozen=True)
class NamedClipReader(NamedReader):
    """A clip network on sub-clips, averaged over equidistant ones (SPAct, section 4.2)."""

    colours: ClassVar[tuple[Colour, Colour]] = KINETICS
    model: str = "r3d18:0.25"
    at_once: int = 1

    def network_for(self, x: npt.NDArray[Any], attribute: Attribute) -> PixelNet:
        """The network for clips like x."""
        scores = self.scores(0, len(attribute.classes), 3)
        return SubClipNet(scores, attribute.multilabel, self.frames, self.step, self.windows)

    def scores(self, side: int, classes: int, channels: int) -> nn.Module:
        """The network that reads one sub-clip."""
        name, width = model_and_width(self.model)
        return clip_model(name, classes, width=width)

    def shown(self, clips: Tensor, reach: int, draw: torch.Generator) -> Tensor:
        """A random sub-clip of each clip, all its frames shifted alike."""
        n, t, channels, *sides = clips.shape
        starts = t - span(self.frames, self.step) + 1
        first = torch.randint(0, starts, (n, 1), generator=draw)
        numbers = first + self.step * torch.arange(self.frames)
        some = clips[torch.arange(n)[:, None], numbers]
        flat = some.reshape(n, self.frames * channels, *sides)
        return shifted(flat, reach, draw).reshape(n, self.frames, channels, *sides)

    def judged(self, clips: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What the choice of an epoch reads: the sub-clip in the middle of each clip."""
        first = (clips.shape[1] - span(self.frames, self.step)) // 2
        return clips[:, first : first + span(self.frames, self.step)]

    def sample(self, clip: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a sub-clip."""
        return (clip[1], self.frames, *clip[2:])


class SubClipNet(AveragedNet):
    """Bytes (b, t, 3, h, w) to the mean over sub-clips of log-probabilities of classes.

    Of clips that are as long as a sub-clip, there is one.
    """

    def __init__(
        self, scores: nn.Module, multilabel: bool, frames: int, step: int, windows: int
    ) -> None:
        super().__init__(scores, 3, multilabel)
        self.frames, self.step, self.windows = frames, step, windows

    def forward(self, clips: Tensor) -> Tensor:
        """Class scores (b, classes)."""
        n, t = clips.shape[:2]
        if t == self.frames:
            picked = clips[:, None]
        else:
            found = equidistant_windows(t, self.windows, self.frames, self.step)
            # In a short clip, windows at equal distances may be the same.
            numbers = sorted({tuple(window.numbers) for window in found})
            picked = clips[:, torch.tensor(numbers)]
        x = (picked.flatten(0, 1).float() - self.mean) / self.scale
        x = x.transpose(1, 2).contiguous(memory_format=torch.channels_last_3d)
        scores: Tensor = self.scores(x)
        if not self.multilabel:
            scores = scores.log_softmax(dim=1)
        return scores.reshape(n, -1, scores.shape[1]).mean(dim=1)
