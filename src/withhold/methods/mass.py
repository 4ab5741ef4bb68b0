"""`mass`: Multi-attribute Selective Suppression (Chen et al.), all of Eq. 1 to 9.

Frozen attribute models and a frozen contrastive encoder, all trained on the original data, steer a
modifier G(x) = n(x + n(MLP(x))). The result is deterministic and almost invertible: it defeats the
frozen models it was trained against, and an attacker retrained on the release reads nearly all of
what was suppressed. The audit says so; `docs/methods/mass.md` explains why.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from withhold.attribute import Attribute
from withhold.dataset import Dataset
from withhold.losses.entropy import prediction_entropy
from withhold.losses.nt_xent import nt_xent
from withhold.losses.reconstruction import reconstruction
from withhold.losses.similarity import (
    Similarity,
    ce_similarity,
    cosine_similarity,
    kl_similarity,
)
from withhold.methods.journal import Journal
from withhold.methods.mass_config import PRESETS, MassConfig, weight_of
from withhold.methods.modifier import FloatArray, Modifier, State
from withhold.methods.registry import method
from withhold.methods.stages.attribute_model import train_attribute_model
from withhold.methods.stages.contrastive import train_contrastive
from withhold.methods.training import (
    adamw,
    cosine_rate,
    epoch_batches,
    epochs_for,
    initialise,
    seeded,
    set_rate,
    steps_per_epoch,
)
from withhold.nets.attribute import FrozenAttributeNet
from withhold.nets.device import core_count, pick_device, threads, threads_for
from withhold.nets.mlp import aligned, aligned_width, folded
from withhold.nets.modifier import ModifierNet, modify
from withhold.nets.space import Space
from withhold.progress import Progress
from withhold.roles import Roles


class MassModifier(Modifier):
    """n(x + n(MLP(x))) with the batch norms folded in, between `enter` and `leave` of a space."""

    method = "mass"
    # Records go through in blocks of one fixed size (the last one padded), so that the kernels
    # chosen, and with them the last bits, do not depend on how a caller cuts the data.
    block = 512

    def __init__(self, change: nn.Sequential, space: Space) -> None:
        self.change, self.space = change, space
        self._aligned = aligned(change)

    @property
    def dimension(self) -> int:
        """Features per record."""
        return len(self.space.mean)

    def _transform(self, x: FloatArray) -> FloatArray:
        out = np.empty_like(x)
        starts = range(0, len(x), self.block)
        # One thread a block, for the same reason: how many share a block decides the last bits
        # too. The cores work on different blocks instead.
        with threads(1):
            if len(starts) == 1:
                self._fill(out, x, 0)
            else:
                with ThreadPoolExecutor(min(core_count(), len(starts))) as pool:
                    list(pool.map(lambda start: self._fill(out, x, start), starts))
        return out

    @torch.inference_mode()
    def _fill(self, out: FloatArray, x: FloatArray, start: int) -> None:
        """One block of records, modified, into its place in `out`."""
        size = min(self.block, len(x) - start)
        # A copy: torch takes no array that cannot be written to, and Arrow hands out such.
        piece = np.zeros((self.block, x.shape[1]), np.float32)
        piece[:size] = x[start : start + size]
        z = self.space.enter(torch.from_numpy(piece))
        fill = aligned_width(self.dimension) - self.dimension
        z = modify(self._aligned, nn.functional.pad(z, (0, fill)))
        out[start : start + size] = self.space.leave(z[:, : self.dimension])[:size].numpy()

    def state(self) -> State:
        """Weights and biases of the linear layers, and the space."""
        arrays = {k: v.numpy() for k, v in self.change.state_dict().items()}
        return arrays | {
            "space.mean": self.space.mean.numpy(),
            "space.deviation": self.space.deviation.numpy(),
        }

    def settings(self) -> dict[str, Any]:
        """The radius of the space."""
        return {"radius": self.space.radius}

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any]) -> MassModifier:
        """The modifier that was saved."""
        tensors = {k: torch.from_numpy(np.array(v)) for k, v in state.items()}
        space = Space(
            tensors.pop("space.mean"), tensors.pop("space.deviation"), float(settings["radius"])
        )
        layers: list[nn.Module] = []
        for name in sorted((k for k in tensors if k.endswith(".weight")), key=_number):
            outputs, inputs = tensors[name].shape
            layers += [nn.Linear(inputs, outputs), nn.ReLU(inplace=True)]
        change = nn.Sequential(*layers[:-1]).eval().requires_grad_(False)
        change.load_state_dict(tensors)
        return cls(change, space)


def _number(name: str) -> int:
    return int(name.split(".")[0])


@method
class Mass:
    """The fitter."""

    name = "mass"
    config_type = MassConfig
    presets = PRESETS
    modifier_type = MassModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: MassConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> MassModifier:
        """Attribute models, contrastive encoder, then the modifier; each resumes by itself."""
        train = dataset.part("train")
        device = pick_device()
        with threads(threads_for(len(train.x[: config.batch]) * train.dimension * 256.0)):
            space = Space.of(train.x)
            x = space.enter(torch.from_numpy(train.x)).to(device)
            digest = dataset_digest(x)
            kit: dict[str, Any] = {
                "seed": seed, "progress": progress, "journal": journal, "digest": digest
            }  # fmt: skip
            terms = _attribute_terms(train, roles, config, x, kit)
            encoder = None
            if config.agnostic:
                net = train_contrastive(x, train.raw, space, config.contrastive, **kit)
                encoder = net.frozen()
            change = train_modifier(x, terms, encoder, config, **kit)
        return MassModifier(folded(change.cpu()), space)


@dataclass(frozen=True)
class AttributeTerm:
    """One attribute's part of the loss: its frozen model, what that says of the originals, weights.

    z: (n, h) and p: (n, k) of the original records, computed once because nothing in them changes.
    """

    name: str
    model: FrozenAttributeNet
    z: Tensor
    p: Tensor
    codes: Tensor
    multilabel: bool
    kind: Similarity
    suppress: float = 0.0
    entropy: float = 0.0
    preserve: float = 0.0

    def fingerprint(self) -> list[object]:
        """What decides the loss: roles, and through z, p and codes the labels and the model."""
        digests = [dataset_digest(t) for t in (self.z, self.p, self.codes)]
        return [self.name, self.kind, self.suppress, self.entropy, self.preserve, *digests]

    def loss(self, x_new: Tensor, rows: Tensor) -> Tensor:
        """L^s = w sim(x', x) - h H(p_{x'}) (Eq. 3), or L^r = -w sim(x', x) (Eq. 8)."""
        z_new, p_new = self.model(x_new)
        total: Tensor = p_new.new_zeros(())
        weight = self.suppress - self.preserve
        if weight and self.kind == "cosine":
            total = weight * cosine_similarity(z_new, self.z[rows])
        elif weight and self.kind == "kl":
            total = weight * kl_similarity(p_new, self.p[rows], multilabel=self.multilabel)
        elif weight:
            total = weight * ce_similarity(p_new, self.codes[rows], multilabel=self.multilabel)
        if self.entropy:
            total = total - self.entropy * prediction_entropy(p_new, multilabel=self.multilabel)
        return total


def train_modifier(
    x: Tensor,
    terms: list[AttributeTerm],
    encoder: nn.Sequential | None,
    config: MassConfig,
    *,
    seed: int,
    progress: Progress,
    journal: Journal,
    digest: str,
) -> nn.Sequential:
    """Minimise Eq. 9 over the modifier's MLP, all else frozen. x: (n, d) on the sphere."""
    network = ModifierNet(x.shape[1], config.hidden)
    initialise(network, seed, "modifier")
    network.to(x.device)
    optimiser = adamw(network, rate=config.learning_rate, decay=config.weight_decay)
    with torch.no_grad():
        p_star = None if encoder is None else in_blocks(encoder, x)
    stage = journal.stage(
        "modifier", data=digest, seed=seed, config=config.model_dump(mode="json"),
        encoder=None if p_star is None else dataset_digest(p_star),
        terms=[t.fingerprint() for t in terms],
    )  # fmt: skip
    first = stage.resume(network, optimiser)
    per_epoch = steps_per_epoch(len(x), config.batch)
    epochs = epochs_for(config.epochs, len(x), config.batch, steps=1500)
    with progress.stage("modifier", epochs) as bar:
        bar.advance(first)
        for epoch in range(first, epochs):
            network.train()
            sums: dict[str, Tensor] = {}
            draws = epoch_batches(len(x), config.batch, seeded(seed, "modifier", epoch))
            for step, draw in enumerate(draws):
                done = epoch * per_epoch + step
                set_rate(optimiser, cosine_rate(config.learning_rate, done, epochs * per_epoch))
                rows = draw.to(x.device)
                losses = modifier_losses(network, x, rows, terms, encoder, p_star, config)
                optimiser.zero_grad(set_to_none=True)
                torch.stack(list(losses.values())).sum().backward()
                optimiser.step()
                for name, loss in losses.items():
                    sums[name] = sums.get(name, loss.new_zeros(())) + loss.detach()
            means = {name: round(float(total) / per_epoch, 6) for name, total in sums.items()}
            stage.save(epoch + 1, network, optimiser, means)
            bar.advance(note=f"loss {sum(means.values()):.3f}")
    return network.change


def modifier_losses(
    network: ModifierNet,
    x: Tensor,
    rows: Tensor,
    terms: list[AttributeTerm],
    encoder: nn.Sequential | None,
    p_star: Tensor | None,
    config: MassConfig,
) -> dict[str, Tensor]:
    """The terms of Eq. 9 on one batch, by name."""
    batch = x[rows]
    x_new = network(batch)
    losses = {}
    if config.reconstruction:
        losses["reconstruction"] = config.reconstruction * reconstruction(x_new, batch)
    if encoder is not None and p_star is not None:
        losses["agnostic"] = config.agnostic * nt_xent(
            p_star[rows], encoder(x_new), temperature=config.contrastive.temperature
        )
    for term in terms:
        losses[term.name] = term.loss(x_new, rows)
    # All terms switched off is a legal ablation: the modifier then stays as it was drawn.
    return losses or {"nothing": 0.0 * x_new.sum()}


def _attribute_terms(
    train: Dataset, roles: Roles, config: MassConfig, x: Tensor, kit: dict[str, Any]
) -> list[AttributeTerm]:
    suppress = weight_of(config.suppression, roles.suppress, setting="suppression")
    entropy = weight_of(config.entropy, roles.suppress, setting="entropy")
    preserve = weight_of(config.preservation, roles.preserve, setting="preservation")
    terms = []
    for name in roles.named:
        weights = (suppress.get(name, 0.0), entropy.get(name, 0.0), preserve.get(name, 0.0))
        if not any(weights):
            continue
        attribute = train.attribute(name)
        say_what_is_odd(attribute, kit["progress"], balanced=config.attribute_model.balance)
        model = train_attribute_model(x, attribute, config.attribute_model, **kit).frozen()
        with torch.no_grad():
            z = in_blocks(model.features, x)
            p = model.head(z)
        terms.append(
            AttributeTerm(
                name,
                model,
                z,
                p,
                torch.from_numpy(attribute.codes).to(x.device),
                attribute.multilabel,
                config.similarity if name in suppress else config.preserve_similarity,
                *weights,
            )
        )
    return terms


def say_what_is_odd(attribute: Attribute, progress: Progress, *, balanced: bool) -> None:
    """Tell the user of classes without training records, missing labels and imbalance."""
    counts, name = attribute.counts, attribute.name
    unseen = [c for c, n in zip(attribute.classes, counts, strict=True) if n == 0]
    if unseen:
        shown = ", ".join(unseen[:3]) + (", …" if len(unseen) > 3 else "")
        progress.say(
            f"attribute '{name}': {len(unseen)} of {len(counts)} classes have no training record"
            f" ({shown}); their records are modified like the others, but nothing was learned"
            " of them"
        )
    if attribute.missing:
        progress.say(
            f"attribute '{name}': {attribute.missing:,} of {len(attribute.codes):,} training"
            " records have no label; they are masked"
        )
    if not balanced and not attribute.multilabel and attribute.majority > 0.7:
        common = attribute.classes[int(counts.argmax())]
        progress.say(
            f"attribute '{name}': {100 * attribute.majority:.0f} % of the training records are"
            f" '{common}'; attribute_model.balance: true weighs the classes alike"
        )


def in_blocks(network: nn.Module, x: Tensor, rows: int = 4096) -> Tensor:
    """network(x) without holding the activations of all records at once."""
    return torch.cat([network(piece) for piece in x.split(rows)])


def dataset_digest(x: Tensor) -> str:
    """SHA-256 of the numbers of a tensor."""
    return hashlib.sha256(x.detach().cpu().contiguous().numpy().data).hexdigest()
