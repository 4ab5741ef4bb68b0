"""The networks of `mass-it` that train together, and what each of them minimises."""

from __future__ import annotations

from math import log

import torch
from torch import Tensor, nn

from withhold.learn.losses.info_nce import info_nce
from withhold.learn.losses.limit_penalty import leak_penalty, loss_penalty
from withhold.learn.losses.similarity import masked_cross_entropy
from withhold.learn.nets.attribute_net import AttributeNet
from withhold.learn.nets.generator import GeneratorNet
from withhold.learn.nets.perceptron import mlp
from withhold.learn.training import initialise, tensor_digest
from withhold.methods.features.mass.config import weight_of
from withhold.methods.features.mass_it.config import MassItConfig
from withhold.methods.features.mass_it.limits import MassItLimits
from withhold.records.attribute import Attribute
from withhold.records.roles import Roles


class MassItTarget:
    """One attribute: its labels, its limit in nats, and the weight of its penalty."""

    def __init__(
        self, attribute: Attribute, device: torch.device, *, weight: float, suppress: bool,
        entropy_bits: float, limit_bits: float,
    ) -> None:  # fmt: skip
        self.name, self.multilabel = attribute.name, attribute.multilabel
        self.codes = torch.from_numpy(attribute.codes).to(device)
        self.weight, self.suppress = weight, suppress
        # Settings and messages are in bits, cross-entropies in nats: this is the conversion.
        self.entropy, self.limit = entropy_bits * log(2), limit_bits * log(2)

    def cross_entropy(self, p: Tensor, rows: Tensor) -> Tensor:
        """CE of logits p: (b, k) against the labels of `rows`, in nats; missing ones masked."""
        return masked_cross_entropy(p, self.codes[rows], multilabel=self.multilabel)

    def penalty(self, cross_entropy: Tensor) -> Tensor:
        """The penalty of the generator if the model of the attribute has this cross-entropy."""
        if self.suppress:
            unweighted = leak_penalty(cross_entropy, entropy=self.entropy, most=self.limit)
        else:
            unweighted = loss_penalty(cross_entropy, entropy=self.entropy, least=self.limit)
        return self.weight * unweighted

    def fingerprint(self) -> list[object]:
        """Everything that the loss depends on."""
        numbers = [self.weight, self.suppress, self.entropy, self.limit]
        return [self.name, *numbers, tensor_digest(self.codes)]


def targets_of(
    attributes: list[Attribute], roles: Roles, limits: MassItLimits, config: MassItConfig,
    device: torch.device,
) -> list[MassItTarget]:  # fmt: skip
    """Every attribute in a role whose penalty has a positive weight."""
    weight = weight_of(config.suppression, roles.suppress, setting="suppression")
    weight |= weight_of(config.preservation, roles.preserve, setting="preservation")
    limit = limits.most_leaked | limits.least_kept
    return [
        MassItTarget(
            a, device, weight=weight[a.name], suppress=a.name in roles.suppress,
            entropy_bits=limits.entropy[a.name], limit_bits=limit[a.name],
        )
        for a in attributes
        if weight[a.name]
    ]  # fmt: skip


class MassItPlayers(nn.Module):
    """The generator, the attribute models that learn from its output, and the two critics.

    `models` are in the order of the targets, and start with the weights from the originals.
    """

    def __init__(
        self, dimension: int, models: list[AttributeNet], config: MassItConfig, *, seed: int
    ) -> None:
        super().__init__()
        self.generator = GeneratorNet(dimension, config.hidden)
        self.critics = nn.ModuleList(mlp([dimension, *config.critic]) for _ in range(2))
        # Two different draws: equal critics would give x and x' the same output at the start.
        initialise(self.generator, seed, "generator")
        initialise(self.critics, seed, "critics")
        self.models = nn.ModuleList(models)

    def backward(
        self,
        x: Tensor,
        noise: Tensor,
        rows: Tensor,
        targets: list[MassItTarget],
        config: MassItConfig,
    ) -> dict[str, Tensor]:
        """The gradients of all networks on one batch; x, noise: (b, d). Returns the losses.

        A model minimises its CE on the detached x', and the generator minimises the penalty of
        that CE. By the chain rule d penalty / dx' = penalty'(CE) dCE / dx', so one pass through a
        model gives both gradients, and the model learns nothing from the penalty.
        """
        x_new = self.generator(x, noise)
        pull = torch.zeros_like(x_new)  # d loss / dx'
        losses = {}
        if config.agnostic:
            seen = x_new.detach().requires_grad_()
            loss = config.agnostic * info_nce(
                self.critics[0](x), self.critics[1](seen), temperature=config.temperature
            )
            loss.backward()
            pull += _gradient(seen)
            losses["agnostic"] = loss.detach()
        for target, model in zip(targets, self.models, strict=True):
            seen = x_new.detach().requires_grad_()
            cross_entropy = target.cross_entropy(model(seen)[1], rows)
            cross_entropy.backward()
            at = cross_entropy.detach().requires_grad_()
            penalty = target.penalty(at)
            penalty.backward()
            pull += _gradient(at) * _gradient(seen)
            losses[target.name] = penalty.detach()
        x_new.backward(pull)
        return losses


def _gradient(leaf: Tensor) -> Tensor:
    assert leaf.grad is not None
    return leaf.grad
