"""One step of Algorithm 1: filter and generator, then the networks that read them.

Everything is computed once. The readers are updated last, and on the images of this step; so the
scores by which filter and generator learn are those by which the readers learn, and each network
makes one pass forward.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from withhold.learn.losses.entropy import prediction_entropy
from withhold.learn.losses.similarity import masked_cross_entropy
from withhold.learn.nets.channels_last import to_channels_last
from withhold.learn.nets.resnet import ResNet
from withhold.learn.nets.unet import UNet
from withhold.learn.training import initialise
from withhold.methods.images.replace.config import FilterLoss, GapConfig

Losses = dict[str, Tensor]


class Player(nn.Module):
    """A U-Net that makes images and a ResNet that reads them; each has its optimiser."""

    def __init__(
        self, name: str, config: GapConfig, *, labels: int | None, scores: int, blocks: int
    ) -> None:
        super().__init__()
        self.name = name
        self.maker = UNet(
            config.side,
            width=config.width,
            depth=config.depth,
            noise=config.noise,
            classes=labels,
        )
        self.reader = ResNet(config.side, scores, width=config.reader_width, blocks=blocks)

    @classmethod
    def filter(cls, classes: int, config: GapConfig) -> Player:
        """x' = f(x, z1), read by a ResNet-18 with a score for each class."""
        return cls("filter", config, labels=None, scores=classes, blocks=2)

    @classmethod
    def generator(cls, classes: int, config: GapConfig) -> Player:
        """x'' = g(x', s', z2), read by a ResNet-10 with one more score, for made images."""
        return cls("generator", config, labels=classes, scores=classes + 1, blocks=1)

    def start(self, seed: int, device: torch.device) -> Player:
        """Draw the weights from the seed; channels last, which convolutions on a CPU prefer."""
        initialise(self.maker, seed, self.name)
        initialise(self.reader, seed, f"{self.name} reader")
        to_channels_last(self, device)
        return self

    def optimisers(self, rate: float) -> dict[str, torch.optim.Adam]:
        """Adam for the maker and for the reader, by name."""
        fused = next(self.parameters()).device.type in ("cpu", "cuda")
        return {
            f"{self.name}_adam": torch.optim.Adam(self.maker.parameters(), rate, fused=fused),
            f"{self.name}_reader_adam": torch.optim.Adam(
                self.reader.parameters(), rate, fused=fused
            ),
        }


@dataclass(frozen=True)
class Batch:
    """Images x (b, 3, side, side) in [0, 1] with classes s (b,), -1 if unknown."""

    x: Tensor
    s: Tensor


def filter_step(
    player: Player,
    optimisers: dict[str, torch.optim.Adam],
    batch: Batch,
    noise: Tensor,
    config: GapConfig,
) -> tuple[Tensor, Losses]:
    """Update filter and reader. Returns x' without its graph, and what was measured."""
    with _precision(batch.x, config):
        made = player.maker(batch.x, noise).float()
        scores = player.reader(made).float()
    hide = hiding_loss(scores, batch.s, config.filter_loss)
    bent, cost = distortion(made, batch.x, config)
    read = masked_cross_entropy(scores, batch.s)
    _update(player, optimisers, hide + cost, read)
    return made.detach(), {
        "filter": hide,
        "filter_distortion": bent,
        "filter_reader": read,
        "filter_read": accuracy(scores, batch.s),
        "filter_spread": scores.log_softmax(1).std(0).mean(),
    }


def generator_step(
    player: Player,
    optimisers: dict[str, torch.optim.Adam],
    batch: Batch,
    filtered: Tensor,
    new: Tensor,
    noise: Tensor,
    config: GapConfig,
    *,
    update_reader: bool,
) -> Losses:
    """Update the generator, and the reader if it is its turn. `new` (b,): the classes s'."""
    with _precision(filtered, config):
        made = player.maker(filtered, noise, new).float()
        scores = player.reader(made).float()
        real = player.reader(batch.x).float() if update_reader else None
    fool = F.cross_entropy(scores, new)
    bent, cost = distortion(made, batch.x, config)
    found: Losses = {}
    read = None
    if real is not None:
        fake = torch.full_like(new, scores.shape[1] - 1)
        read = F.cross_entropy(scores, fake) + masked_cross_entropy(real, batch.s)
        found = {
            "generator_reader": read,
            "generator_read_real": accuracy(real, batch.s),
            "generator_read_made": (scores.argmax(1) == fake).float().mean(),
        }
    _update(player, optimisers, fool + cost, read)
    return {"generator": fool, "generator_distortion": bent, **found}


def hiding_loss(scores: Tensor, s: Tensor, kind: FilterLoss) -> Tensor:
    """-H(softmax of the scores), or the cross-entropy to 1 - s of two classes."""
    if kind == "entropy":
        return -prediction_entropy(scores)
    return masked_cross_entropy(scores, torch.where(s < 0, s, 1 - s))


def distortion(made: Tensor, x: Tensor, config: GapConfig) -> tuple[Tensor, Tensor]:
    """mean d(x, x') over the batch, and lambda max(that - epsilon, 0)^2."""
    bent = F.mse_loss(made, x)
    return bent, config.penalty * (bent - config.epsilon).clamp(min=0).square()


def accuracy(scores: Tensor, s: Tensor) -> Tensor:
    """The share of known classes that have the highest score."""
    known = s >= 0
    right = (scores.argmax(1) == s) & known
    return right.sum() / known.sum().clamp(min=1)


def _precision(x: Tensor, config: GapConfig) -> torch.autocast:
    """Convolutions in the precision of the settings; weights and losses stay float32."""
    return torch.autocast(
        x.device.type, torch.bfloat16, enabled=config.precision == "bfloat16", cache_enabled=False
    )


def _update(
    player: Player,
    optimisers: dict[str, torch.optim.Adam],
    maker_loss: Tensor,
    reader_loss: Tensor | None,
) -> None:
    """Both gradients from one forward pass, then both updates: maker first, as in Algorithm 1."""
    maker, reader = (
        optimisers[f"{player.name}_adam"],
        optimisers[f"{player.name}_reader_adam"],
    )
    maker.zero_grad(set_to_none=True)
    # `inputs` leaves the weights of the other network out of this backward pass.
    maker_loss.backward(inputs=[*player.maker.parameters()], retain_graph=reader_loss is not None)
    if reader_loss is not None:
        reader.zero_grad(set_to_none=True)
        reader_loss.backward(inputs=[*player.reader.parameters()])
    maker.step()
    if reader_loss is not None:
        reader.step()
