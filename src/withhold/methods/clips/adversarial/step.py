"""One step of `adversarial`: the anonymiser f_D, then the networks that read its frames.

f_D   minimises L_action(f_A(x')) + gamma max_i L_suppress(f_i(x')), x' = f_D(x)
f_A   minimises the cross-entropy of the preserved attributes on x'
f_i   minimises the cross-entropy of the suppressed attributes on frames of x'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from withhold.learn.training import initialise, take_step
from withhold.methods.clips.adversarial.config import AdversarialConfig
from withhold.methods.clips.label_heads import LabelHeads, accuracy, hiding_loss, reading_loss
from withhold.methods.clips.labelled_clips import LabelledClips
from withhold.methods.clips.networks import (
    Frames,
    adam,
    anonymise,
    clip_scores,
    make_action_model,
    make_anonymiser,
    make_frame_model,
    pick_frames,
)

Losses = dict[str, Tensor | float]


@dataclass(eq=False)
class ClipPlayers:
    """f_D, f_A and the privacy models f_i, and what the latter two predict."""

    anonymiser: nn.Module
    action: nn.Module
    privacy: tuple[nn.Module, ...]
    actions: LabelHeads
    private: LabelHeads
    optimisers: dict[str, torch.optim.Optimizer] = field(default_factory=dict)

    @classmethod
    def start(
        cls, data: LabelledClips, config: AdversarialConfig, seed: int, device: torch.device
    ) -> ClipPlayers:
        """All networks, their weights drawn from the seed."""
        return cls(
            make_anonymiser(config, seed, device),
            make_action_model(config, data.actions.width, seed, device),
            tuple(
                make_frame_model(text, data.private.width, config, seed, device, f"privacy {i}")
                for i, text in enumerate(config.privacy_models)
            ),
            data.actions,
            data.private,
        )

    def start_optimisers(self, config: AdversarialConfig) -> None:
        """Adam for each network."""
        self.optimisers = {
            "anonymiser_adam": adam(self.anonymiser, config.learning_rate),
            "action_adam": adam(self.action, config.action_rate),
            **{
                f"privacy_{i}_adam": adam(network, config.privacy_rate)
                for i, network in enumerate(self.privacy)
            },
        }

    @property
    def parts(self) -> dict[str, Any]:
        """All that a step changes, by name, for a checkpoint."""
        networks = {f"privacy_{i}": network for i, network in enumerate(self.privacy)}
        return {
            "anonymiser": self.anonymiser,
            "action": self.action,
            **networks,
            **self.optimisers,
        }

    def train(self) -> None:
        """Batch norms use their batch."""
        for network in (self.anonymiser, self.action, *self.privacy):
            network.train()


@dataclass(frozen=True)
class ClipTask:
    """Clips x (b, t, 3, h, w), their actions (b, a), and what of the suppressed counts.

    `shown` (b, p) masks the suppression term; `models` are the privacy models that read; `frames`
    (b, k) the frames that they read.
    """

    x: Tensor
    action: Tensor
    shown: Tensor
    models: tuple[int, ...]
    frames: Tensor


@dataclass(frozen=True)
class SeenClips:
    """Anonymised clips without their graph, the frames to read, and the codes of both labels."""

    made: Tensor
    action: Tensor
    private: Tensor
    frames: Tensor


def objective(
    players: ClipPlayers, change: Frames, task: ClipTask, config: AdversarialConfig
) -> tuple[Tensor, Tensor, Losses]:
    """L of a task with f_D = `change`; the anonymised clips; and what was measured."""
    made = anonymise(change, task.x)
    scores = clip_scores(players.action, made)
    act = reading_loss(players.actions, scores, task.action)
    frames = pick_frames(made, task.frames)
    shown = task.shown.repeat_interleave(task.frames.shape[1], dim=0)
    hidden = []
    for number in task.models:
        said = players.privacy[number](frames)
        hidden.append(hiding_loss(players.private, said, shown, config.suppression))
    hide = worst(hidden)
    found: Losses = {
        "action": act,
        "suppress": hide,
        "action_read": accuracy(players.actions, scores.detach(), task.action),
        "spread": made.detach().std(0).mean(),
    }
    return act + config.gamma * hide, made, found


def worst(losses: list[Tensor]) -> Tensor:
    """The greatest of the losses. Only its network is in the graph of the result."""
    return losses[int(torch.stack([loss.detach() for loss in losses]).argmax())]


def anonymiser_step(
    players: ClipPlayers, task: ClipTask, config: AdversarialConfig
) -> tuple[Tensor, Losses]:
    """Update f_D. Returns x' without its graph, and what was measured."""
    loss, made, found = objective(players, players.anonymiser, task, config)
    update(
        players,
        torch.autograd.grad(loss, [*players.anonymiser.parameters()]),
    )
    return made.detach(), found


def update(players: ClipPlayers, gradient: tuple[Tensor, ...]) -> None:
    """One step of f_D down this gradient."""
    for weight, part in zip(players.anonymiser.parameters(), gradient, strict=True):
        weight.grad = part
    players.optimisers["anonymiser_adam"].step()


def action_step(players: ClipPlayers, seen: SeenClips) -> float:
    """Update f_A on anonymised clips; returns its accuracy on them before."""
    scores = clip_scores(players.action, seen.made)
    loss = reading_loss(players.actions, scores, seen.action)
    take_step(players.optimisers["action_adam"], loss)
    return float(accuracy(players.actions, scores.detach(), seen.action))


def privacy_step(
    players: ClipPlayers, number: int, seen: SeenClips, *, unless: float | None = None
) -> tuple[bool, Losses]:
    """Update one privacy model, unless its accuracy is at least `unless` already.

    Returns whether it was updated, and what was measured before.
    """
    codes = seen.private.repeat_interleave(seen.frames.shape[1], dim=0)
    scores = players.privacy[number](pick_frames(seen.made, seen.frames))
    loss = reading_loss(players.private, scores, codes)
    right = float(accuracy(players.private, scores.detach(), codes))
    spread = scores.detach().log_softmax(1).std(0).mean()
    found: Losses = {"privacy": loss, "privacy_read": right, "privacy_spread": spread}
    if unless is not None and right >= unless:
        return False, found
    take_step(players.optimisers[f"privacy_{number}_adam"], loss)
    return True, found


def privacy_updates(
    players: ClipPlayers, batches: Iterator[SeenClips], config: AdversarialConfig
) -> tuple[int, Losses]:
    """Every f_i takes `least_updates` steps, and more while its accuracy is below T2, capped.

    Returns the steps of all of them together, and what was measured last.
    """
    behind = [*range(len(players.privacy))]
    taken, found = 0, Losses()
    for turn in range(config.most_updates):
        if not behind:
            break
        seen, still = next(batches), []
        for number in behind:
            unless = None if turn < config.least_updates else config.privacy_threshold
            updated, found = privacy_step(players, number, seen, unless=unless)
            if updated:
                still.append(number)
        taken += len(still)
        behind = still
    return taken, found


def action_updates(
    players: ClipPlayers,
    batches: Iterator[SeenClips],
    config: AdversarialConfig,
    validate: Callable[[], float] | None,
) -> int:
    """f_A takes `least_updates` steps, and more while it is below T1 on the validation part.

    `validate` measures it; None: not in this step. Returns the steps.
    """
    taken = 0
    while taken < config.most_updates:
        if taken >= config.least_updates and (
            validate is None or validate() >= config.action_threshold
        ):
            break
        action_step(players, next(batches))
        taken += 1
    return taken


def restart(
    players: ClipPlayers,
    step: int,
    batches: Iterator[SeenClips],
    config: AdversarialConfig,
    seed: int,
) -> tuple[int, ...]:
    """Start privacy models again if it is time, and train them up to T2, capped."""
    if config.restart_every is None or step == 0 or step % config.restart_every:
        return ()
    turn = (step // config.restart_every - 1) % len(players.privacy)
    chosen = range(len(players.privacy)) if config.restart == "all" else (turn,)
    for number in chosen:
        initialise(players.privacy[number], seed, f"privacy {number}", "restart", step)
        players.optimisers[f"privacy_{number}_adam"].state.clear()
        for _ in range(config.restart_updates):
            seen = next(batches)
            if not privacy_step(players, number, seen, unless=config.privacy_threshold)[0]:
                break
    return tuple(chosen)
