"""`replace`: filter and generator under a distortion budget (Martinsson et al.; Algorithm 1).

The filter x' = f(x, z1) makes a reader h_f unsure of the suppressed class. The generator
x'' = g(x', s', z2) puts a class s' in, drawn independently of the image's own; its reader h_g has
learned to tell the classes of originals, and a further class for images that were made. Both pay
for distortion above epsilon only. `gap` is the filter alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from withhold.core.atomic import write_bytes
from withhold.core.errors import UserError, listing
from withhold.core.progress import Progress
from withhold.learn.journal import FitContext, Journal
from withhold.learn.nets.device import pick_device, threads, threads_for
from withhold.learn.training import Schedule, seeded, tensor_digest
from withhold.media.contact_sheet import contact_sheet
from withhold.media.pixel_tensor import pixel_tensor
from withhold.methods.images.replace.config import PRESETS, GapConfig, ReplaceConfig
from withhold.methods.images.replace.image_watch import ImageWatch
from withhold.methods.images.replace.modifier import ReplaceModifier, ReplaceSettings, as_bytes
from withhold.methods.images.replace.new_classes import NewClasses
from withhold.methods.images.replace.step import Batch, Player, filter_step, generator_step
from withhold.methods.registry import method
from withhold.records.attribute import Attribute, combine
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

_SHOWN = 8  # images of the picture of an epoch
_SHOWN_CLASSES = 4


@method
class Replace:
    """The fitter."""

    name = "replace"
    config_type = ReplaceConfig
    presets = PRESETS
    modifier_type = ReplaceModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: ReplaceConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> ReplaceModifier:
        """Train the four networks of Algorithm 1 together."""
        data = LabelledImages.of(dataset, roles, config, progress)
        classes = NewClasses.of(data.attributes, data.suppressed, config.synthetic)
        parts = ["filter", "generator"] if config.use_filter else ["generator"]
        networks = train(
            data, parts, classes, config, FitContext(seed, progress, journal, data.digest)
        )
        settings = ReplaceSettings.of(config, use_filter=config.use_filter, classes=classes)
        return ReplaceModifier(networks, journal.key, settings)


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Images (n, 3, side, side) uint8 of the training part, and the class of each to suppress."""

    x: Tensor
    attributes: tuple[Attribute, ...]
    suppressed: Attribute  # all suppressed attributes in one

    @classmethod
    def of(
        cls, dataset: Dataset, roles: Roles, config: GapConfig, progress: Progress
    ) -> LabelledImages:
        """Decode the training part, and refuse what the losses are not made for."""
        many = [n for n in roles.suppress if dataset.attribute(n).multilabel]
        if many:
            raise UserError(
                f"attribute '{many[0]}' has several labels per image; this method replaces one"
                " class per image: make a column of each label"
            )
        if roles.preserve:
            progress.say(
                f"{listing(roles.preserve)}: measured by the audit; the only thing that protects"
                " it in training is the distortion budget epsilon"
            )
        train, x = pixel_tensor(dataset.part("train"), config.side, progress=progress)
        attributes = tuple(train.attribute(name) for name in roles.suppress)
        suppressed = combine(attributes)
        suppressed.require_label(f"the training part of {dataset.name}")
        if config.filter_loss == "log-likelihood" and len(suppressed.classes) != 2:
            raise UserError(
                f"filter_loss log-likelihood needs two classes, and '{suppressed.name}' has"
                f" {len(suppressed.classes)}; use entropy"
            )
        return cls(x, attributes, suppressed)

    @property
    def digest(self) -> str:
        """A hash of pixels and classes."""
        return tensor_digest(self.x) + tensor_digest(self.codes)

    @property
    def codes(self) -> Tensor:
        """The classes, (n,), -1 if unknown."""
        return torch.from_numpy(self.suppressed.codes.copy())


def train(
    data: LabelledImages,
    parts: list[str],
    classes: NewClasses | None,
    config: GapConfig,
    context: FitContext,
) -> nn.ModuleDict:
    """Train the parts named, with a reader each, and return their U-Nets.

    Order of the images, noise and new classes come from separate streams, so that the filter of
    `replace` is that of `gap`.
    """
    device = pick_device()
    count = len(data.suppressed.classes)
    make = {"filter": Player.filter, "generator": Player.generator}
    players = {n: make[n](count, config).start(context.seed, device) for n in parts}
    optimisers = {n: p.optimisers(config.learning_rate) for n, p in players.items()}
    stage = context.stage("networks", config=config.model_dump(mode="json"), parts=parts)
    everything: dict[str, Any] = dict(players)
    for own in optimisers.values():
        everything |= own
    stage.resume(**everything)
    schedule = Schedule.of(len(data.x), config.batch, config.epochs, steps=1500)
    watch = ImageWatch(config, data.suppressed.majority, context.progress)
    shown = Pictures(data, classes, config, context) if context.journal.pictures else None
    s = data.codes
    with (
        threads(threads_for(1e9)),
        context.progress.stage("gap" if classes is None else "replace", schedule.epochs) as bar,
    ):
        for epoch in stage.epochs(schedule.epochs, bar, note=_note):
            for player in players.values():
                player.train()
            order, first, second = (
                seeded(context.seed, purpose, epoch.number)
                for purpose in ("order", "filter noise", "generator draws")
            )
            for step, rows in schedule.batches(epoch.number, order):
                batch = Batch(_images(data.x[rows], device), s[rows].to(device))
                made = batch.x
                if "filter" in players:
                    z = torch.randn(len(rows), config.noise, generator=first).to(device)
                    made, losses = filter_step(
                        players["filter"], optimisers["filter"], batch, z, config
                    )
                    epoch.add(losses)
                if classes is not None and isinstance(config, ReplaceConfig):
                    uniform = torch.rand(len(rows), generator=second, dtype=torch.float64)
                    new = torch.from_numpy(classes.draw(uniform.numpy())).to(device)
                    z = torch.randn(len(rows), config.noise, generator=second).to(device)
                    losses = generator_step(
                        players["generator"],
                        optimisers["generator"],
                        batch,
                        made,
                        new,
                        z,
                        config,
                        update_reader=step % config.reader_every == 0,
                    )
                    epoch.add(losses)
            watch.look(epoch.means())
            if shown is not None:
                shown.draw(players, epoch.number + 1)
    return nn.ModuleDict({n: p.maker.cpu().eval() for n, p in players.items()})


class Pictures:
    """After each epoch, a sheet of a few training images: original, x', and x'' of each class."""

    def __init__(
        self,
        data: LabelledImages,
        classes: NewClasses | None,
        config: GapConfig,
        context: FitContext,
    ) -> None:
        rows = np.linspace(0, len(data.x) - 1, min(_SHOWN, len(data.x))).astype(int)
        self.x = data.x[rows]
        self.classes, self.noise, self.seed = classes, config.noise, context.seed
        self.folder = context.journal.pictures
        context.progress.say(f"pictures of each epoch: {self.folder} (they show originals)")

    @torch.no_grad()
    def draw(self, players: dict[str, Player], epoch: int) -> None:
        """Write `epoch-NNNN.png`."""
        assert self.folder is not None
        device = next(next(iter(players.values())).parameters()).device
        x = _images(self.x, device)
        rows = {"original": as_bytes(x)}
        z = torch.randn(len(x), self.noise, generator=seeded(self.seed, "pictures")).to(device)
        if "filter" in players:
            x = players["filter"].eval().maker(x, z)
            rows["filtered"] = as_bytes(x)
        if self.classes is not None:
            generator = players["generator"].eval().maker
            for number, values in enumerate(self.classes.values[:_SHOWN_CLASSES]):
                label = torch.full((len(x),), number, device=device)
                rows["to " + ", ".join(values)] = as_bytes(generator(x, z, label))
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        sheet = contact_sheet({label: list(images) for label, images in rows.items()})
        write_bytes(self.folder / f"epoch-{epoch:04d}.png", sheet)


def _images(pixels: Tensor, device: torch.device) -> Tensor:
    """Bytes (b, 3, h, w) as numbers in [0, 1], channels last in memory."""
    return pixels.to(device).float().div_(255).contiguous(memory_format=torch.channels_last)


def _note(means: dict[str, float]) -> str:
    """What the bar shows of an epoch: what each reader reads, and the distortion."""
    said = []
    if "filter_read" in means:
        said.append(f"filter read {100 * means['filter_read']:.0f} %")
        said.append(f"distortion {means['filter_distortion']:.4f}")
    if "generator" in means:
        said.append(f"generator loss {means['generator']:.2f}")
        said.append(f"distortion {means['generator_distortion']:.4f}")
    return ", ".join(said)
