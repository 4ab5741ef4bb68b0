"""The two steps of `spact`, which alternate from batch to batch (SPAct, section 3.4).

odd batches    f_A minimises L_CE(f_T(x')) - w L_branch(f_B(x')), x' = f_A(x)
even batches   f_T minimises L_CE and f_B minimises L_branch, on x' without its graph
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from withhold.learn.training import take_step
from withhold.methods.clips.label_heads import LabelHeads, accuracy, reading_loss
from withhold.methods.clips.networks import adam, anonymise, clip_scores
from withhold.methods.clips.spact.branch import Branch
from withhold.methods.clips.spact.config import SpactConfig

Losses = dict[str, Tensor | float]


@dataclass(eq=False)
class Networks:
    """f_A, f_T and f_B, and what f_T predicts."""

    anonymiser: nn.Module
    action: nn.Module
    branch: Branch
    actions: LabelHeads
    optimisers: dict[str, torch.optim.Optimizer] = field(default_factory=dict)

    def start_optimisers(self, config: SpactConfig) -> None:
        """Adam for each network."""
        self.optimisers = {
            "anonymiser_adam": adam(self.anonymiser, config.learning_rate),
            "action_adam": adam(self.action, config.action_rate),
            "branch_adam": adam(self.branch, config.branch_rate),
        }

    @property
    def parts(self) -> dict[str, Any]:
        """All that the steps change, by name, for a checkpoint."""
        return {
            "anonymiser": self.anonymiser,
            "action": self.action,
            "branch": self.branch,
            **self.optimisers,
        }

    def train(self) -> None:
        """Batch norms use their batch."""
        for network in (self.anonymiser, self.action, self.branch):
            network.train()


@dataclass(frozen=True)
class SpactBatch:
    """Clips x (b, t, 3, h, w) in [0, 1], their actions (b, a), and what the branch looks at."""

    x: Tensor
    action: Tensor
    drawn: Tensor


def anonymiser_step(networks: Networks, batch: SpactBatch, config: SpactConfig) -> Losses:
    """Update f_A."""
    made = anonymise(networks.anonymiser, batch.x)
    scores = clip_scores(networks.action, made)
    act = reading_loss(networks.actions, scores, batch.action)
    branch = networks.branch.loss(made, batch.drawn)
    weights = [*networks.anonymiser.parameters()]
    gradient = torch.autograd.grad(act - config.weight * branch, weights)
    for weight, part in zip(weights, gradient, strict=True):
        weight.grad = part
    networks.optimisers["anonymiser_adam"].step()
    return {
        "action": act,
        "branch": branch,
        "action_read": accuracy(networks.actions, scores.detach(), batch.action),
        "spread": made.detach().std(0).mean(),
    }


def opponents_step(networks: Networks, batch: SpactBatch) -> Losses:
    """Update f_T and f_B; f_A stays as it is."""
    with torch.no_grad():
        made = anonymise(networks.anonymiser, batch.x)
    scores = clip_scores(networks.action, made)
    act = reading_loss(networks.actions, scores, batch.action)
    take_step(networks.optimisers["action_adam"], act)
    branch = networks.branch.loss(made, batch.drawn)
    take_step(networks.optimisers["branch_adam"], branch)
    return {"opponent_action": act, "opponent_branch": branch}
