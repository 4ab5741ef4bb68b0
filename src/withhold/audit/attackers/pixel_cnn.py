"""`pixels-cnn`, `pixels-cnn-deep`, `pixels-detail`: convolutional networks that read images.

Features show what their extractor keeps. An attacker holds the pictures themselves, and the
adversaries that image methods train against are convolutional, so the audit has such attackers
too: a ResNet-10 and a ResNet-18, each at least as large as the adversary of `replace`. They see
images made small; `pixels-detail` sees what this takes away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from withhold.audit.attackers.attacker import (
    Attacker,
    FittedAttacker,
    FloatArray,
    PixelArray,
    ViewName,
    attacker,
)
from withhold.learn.best_epoch import BestEpoch, held_out_error
from withhold.learn.losses.similarity import masked_cross_entropy
from withhold.learn.nets.channels_last import to_channels_last
from withhold.learn.nets.device import pick_device
from withhold.learn.nets.resnet import ResNet
from withhold.learn.training import (
    adamw,
    cosine_rate,
    epoch_batches,
    initialise,
    seeded,
    set_rate,
    steps_per_epoch,
    take_step,
)
from withhold.records.attribute import Attribute

_BLOCK = 512  # images scored at once
_MULTIPLY_ADDS = 2.4e10  # of training a second on one core, forward and backward


@attacker
@dataclass(frozen=True)
class PixelCnn(Attacker):
    """A narrow ResNet-10 with AdamW and cosine rate; the best epoch on val is kept.

    It reads images (n, channels, side, side) of bytes. `width` and `blocks` set the size of the
    network: one block a stage is a ResNet-10, two are a ResNet-18. `images` is about how many it is
    shown in all, in `least_epochs` to `most_epochs` epochs. `shift` is the largest random shift, in
    pixels of a 32-pixel image. There are no flips: an attribute may be a direction.
    """

    name: ClassVar[str] = "pixels-cnn"
    view: ClassVar[ViewName] = "pixels"
    raw: ClassVar[bool] = True  # also a model of the originals
    starts_warm: ClassVar[bool] = True
    width: int = 16
    blocks: int = 1
    images: int = 40_000
    least_epochs: int = 5
    most_epochs: int = 60
    patience: int = 4
    batch: int = 16
    rate: float = 1e-3
    decay: float = 0.02
    shift: int = 2
    start: Mapping[str, npt.NDArray[Any]] | None = field(default=None, repr=False, compare=False)

    def fit(
        self,
        x: npt.NDArray[Any],
        attribute: Attribute,
        x_val: npt.NDArray[Any],
        attribute_val: Attribute,
        *,
        seed: int,
    ) -> PixelPrediction:
        """Train on images x; stop when (x_val, attribute_val) no longer improves."""
        device = pick_device()
        network = self.network_for(x, attribute)
        initialise(network, seed, "pixels", attribute.name)
        network.standardise(x)
        if self.start is not None:
            network.load_state_dict({k: torch.tensor(v) for k, v in self.start.items()})
        to_channels_last(network, device)
        optimiser = adamw(network, rate=self.rate, decay=self.decay)
        images = torch.from_numpy(np.ascontiguousarray(x))
        codes = torch.from_numpy(attribute.codes)
        rows = torch.from_numpy(np.flatnonzero(attribute.known))
        size = min(self.batch, max(len(rows) // 8, 8))
        per_epoch = steps_per_epoch(len(rows), size)
        epochs = self.epochs(len(rows))
        patience = max(self.patience, epochs // 6)
        reach = self.shift * x.shape[-1] // 32
        judged = bool(attribute_val.known.any())
        warm = judged and self.start is not None
        start = _error(network, x_val, attribute_val) if warm else float("inf")
        best = BestEpoch(network, patience, start)
        for epoch in range(epochs):
            network.train()
            draw = seeded(seed, "pixels", attribute.name, epoch)
            for step, chosen in enumerate(epoch_batches(len(rows), size, draw)):
                done = epoch * per_epoch + step
                set_rate(optimiser, cosine_rate(self.rate, done, epochs * per_epoch))
                batch = rows[chosen]
                scores = network(self.shown(images[batch], reach, draw).to(device))
                truth = codes[batch].to(device)
                take_step(
                    optimiser,
                    masked_cross_entropy(scores, truth, multilabel=attribute.multilabel),
                )
            if not judged:  # val has no labels: keep the last epoch
                continue
            if not best.look(_error(network, x_val, attribute_val)):
                break
        if judged:
            best.restore()
        return PixelPrediction(network.eval().cpu())

    def network_for(self, x: npt.NDArray[Any], attribute: Attribute) -> PixelNet:
        """The network for images like x."""
        return self.network(x.shape[-1], len(attribute.classes), x.shape[1])

    def shown(self, images: Tensor, reach: int, draw: torch.Generator) -> Tensor:
        """What a training step shows of its images."""
        return shifted(images, reach, draw)

    def network(self, side: int, classes: int, channels: int = 3) -> PixelNet:
        """The network for images of this side."""
        scores = ResNet(side, classes, width=self.width, blocks=self.blocks, channels=channels)
        return PixelNet(scores, channels)

    def epochs(self, n: int) -> int:
        """As many as show about `images` images of n."""
        if self.most_epochs == 0:
            return 0
        return min(max(-(-self.images // max(n, 1)), self.least_epochs), self.most_epochs)

    def warm(self, state: Mapping[str, npt.NDArray[Any]]) -> PixelCnn:
        """The same attacker, started from a fitted state at half the rate, to forget less."""
        return replace(
            self,
            start=state,
            rate=self.rate / 2,
            images=self.images // 2,
            least_epochs=-(-self.least_epochs // 2),
            most_epochs=-(-self.most_epochs // 2),
        )

    def loaded(
        self, side: int, classes: int, state: Mapping[str, npt.NDArray[Any]]
    ) -> PixelPrediction:
        """A fitted state as the model that it was."""
        network = self.network(side, classes)
        network.load_state_dict({k: torch.tensor(v) for k, v in state.items()})
        return PixelPrediction(network.eval())

    def fixed(self, state: Mapping[str, npt.NDArray[Any]]) -> PixelCnn:
        """A fitted state that is only asked: a model of the originals, on other images."""
        return replace(self, start=state, most_epochs=0)

    def cost(self, n: int, d: int, classes: int) -> float:
        """Multiply-adds of all images shown, forward and backward; early stopping saves a third."""
        return self.seconds(d, 0.7 * n * self.epochs(n))

    def seconds(self, d: int, shown: float) -> float:
        """Estimated seconds of training on so many images of d values."""
        area = d / 3 if d < 3 * 64**2 else d / 3 / 16  # a large image is reduced by the stem
        stem = 27 if d < 3 * 64**2 else 147
        # Every stage has a quarter of the area and four times the weights of the one before.
        stage = 9 * self.width**2 * (2 * self.blocks - 0.3)
        each = area * (stem * self.width + 4 * stage)
        return 0.3 + 3.0 * each * shown / _MULTIPLY_ADDS


@attacker
@dataclass(frozen=True)
class PixelCnnDeep(PixelCnn):
    """A ResNet-18 of the same width: the adversary of `replace`."""

    name: ClassVar[str] = "pixels-cnn-deep"
    blocks: int = 2


@attacker
@dataclass(frozen=True)
class PixelDetail(PixelCnn):
    """The same network on what a small image does not show (`media.image_detail`).

    There are no shifts: detail of one pixel may differ between classes by its place alone.
    """

    name: ClassVar[str] = "pixels-detail"
    view: ClassVar[ViewName] = "detail"
    raw: ClassVar[bool] = False
    images: int = 20_000
    shift: int = 0


class PixelNet(nn.Module):
    """Bytes (b, c, side, side) to class scores, through channels of mean 0 and deviation 1."""

    mean: Tensor
    scale: Tensor

    def __init__(self, scores: nn.Module, channels: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(channels, 1, 1))
        self.register_buffer("scale", torch.ones(channels, 1, 1))
        self.scores = scores

    def standardise(self, images: PixelArray) -> None:
        """Take mean and deviation of each channel from images (n, ..., c, side, side).

        A release of little contrast must not pass for one that reveals little.
        """
        images = images.reshape(-1, *images.shape[-3:])
        some = images[:: max(len(images) // 2000, 1)].astype(np.float64)
        self.mean.copy_(torch.from_numpy(some.mean(axis=(0, 2, 3))[:, None, None]))
        deviation = some.std(axis=(0, 2, 3))[:, None, None]
        self.scale.copy_(torch.from_numpy(np.where(deviation > 1e-3, deviation, 1.0)))

    def forward(self, images: Tensor) -> Tensor:
        """Class scores (b, classes)."""
        x = (images.float() - self.mean) / self.scale
        found: Tensor = self.scores(x.contiguous(memory_format=torch.channels_last))
        return found


@dataclass(frozen=True, eq=False)
class PixelPrediction(FittedAttacker):
    """The fitted network."""

    network: PixelNet

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The weights, for another fit to start from."""
        return {k: np.array(v.numpy()) for k, v in self.network.state_dict().items()}

    def logits(self, x: npt.NDArray[Any]) -> FloatArray:
        """Scores of each class, (n, k), for images (n, c, side, side)."""
        return _scores(self.network, x).numpy()


def shifted(images: Tensor, reach: int, draw: torch.Generator) -> Tensor:
    """Each image moved by up to `reach` pixels in both directions; its border is repeated."""
    if reach == 0:
        return images
    n, _, height, width = images.shape
    down, right = torch.randint(-reach, reach + 1, (2, n, 1), generator=draw)
    rows = (torch.arange(height) + down).clamp(0, height - 1)
    columns = (torch.arange(width) + right).clamp(0, width - 1)
    of = torch.arange(n)[:, None, None]
    return images.permute(0, 2, 3, 1)[of, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


@torch.inference_mode()
def _scores(network: PixelNet, x: npt.NDArray[Any]) -> Tensor:
    """Scores (n, k) on the CPU."""
    network.eval()
    device = network.mean.device
    each = x.shape[1] if x.ndim == 5 else 1  # images of a record
    pieces = np.array_split(x, max(-(-len(x) * each // _BLOCK), 1))
    # Copies: in a worker process, the images may be a read-only map of a file.
    return torch.cat([network(torch.from_numpy(piece.copy()).to(device)).cpu() for piece in pieces])


def _error(network: PixelNet, x: npt.NDArray[Any], truth: Attribute) -> float:
    codes = torch.from_numpy(truth.codes)
    return held_out_error(_scores(network, x), codes, multilabel=truth.multilabel)
