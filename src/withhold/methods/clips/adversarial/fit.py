"""`adversarial`: supervised minimax training of a frame anonymiser (Wu et al., 2018 and 2020).

An anonymiser f_D learns to make frames from which an ensemble of privacy models cannot tell the
suppressed attributes, while an action model still recognises the preserved ones. The opponents
keep learning: f_A up to a validation accuracy of T1 and each f_i up to a training accuracy of T2,
by a limited number of further steps; privacy models are restarted from time to time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain

import torch

from withhold.core.progress import Progress
from withhold.learn.journal import FitContext, Journal
from withhold.learn.nets.device import pick_device, threads, threads_for
from withhold.learn.training import Schedule, seeded, set_rate
from withhold.methods.clips.adversarial.config import PRESETS, AdversarialConfig
from withhold.methods.clips.adversarial.opponents import seen_batches, validation_accuracy
from withhold.methods.clips.adversarial.step import (
    ClipPlayers,
    ClipTask,
    Losses,
    SeenClips,
    action_updates,
    anonymiser_step,
    privacy_step,
    privacy_updates,
    restart,
)
from withhold.methods.clips.clip_watch import ClipWatch
from withhold.methods.clips.epoch_pictures import EpochPictures
from withhold.methods.clips.first_phases import RETURN, learn_actions, learn_to_return
from withhold.methods.clips.frame_modifier import FrameModifier, FrameSettings
from withhold.methods.clips.label_heads import majority
from withhold.methods.clips.labelled_clips import LabelledClips, pixels
from withhold.methods.clips.networks import draw_frames
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

STEPS = 400  # of the anonymiser, unless epochs are set
# The settings that decide the phase of the privacy models.
_PRIVATE = (*RETURN, "privacy_models", "privacy_frames", "privacy_rate", "privacy_epochs")
# (step, rows of the batch, generator of the step's draws) to x' and what was measured.
AnonymiserStep = Callable[[int, torch.Tensor, torch.Generator], tuple[SeenClips, Losses]]


class AdversarialModifier(FrameModifier):
    """x'_t = f_D(x_t)."""

    method = "adversarial"


@method
class Adversarial:
    """The fitter."""

    name = "adversarial"
    config_type = AdversarialConfig
    presets = PRESETS
    modifier_type = AdversarialModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: AdversarialConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> AdversarialModifier:
        """Three phases in which each network learns by itself, then the game."""
        data = LabelledClips.of(
            dataset, roles, config, progress, method=self.name, folder=journal.folder
        )
        context = FitContext(seed, progress, journal, data.digest)
        players = prepared(data, config, context)

        learn = whole_step(players, data, config)
        play(self.name, players, data, config, context, lambda _: learn)
        return AdversarialModifier(
            players.anonymiser.cpu().eval(), journal.key, FrameSettings.of(config)
        )


def prepared(data: LabelledClips, config: AdversarialConfig, context: FitContext) -> ClipPlayers:
    """All networks after the phases in which each learns by itself."""
    players = ClipPlayers.start(data, config, context.seed, pick_device())
    learn_to_return(players.anonymiser, data, config, context)
    learn_actions(players.action, players.anonymiser, data, config, context)
    learn_private(players, data, config, context)
    players.start_optimisers(config)
    return players


def learn_private(
    players: ClipPlayers, data: LabelledClips, config: AdversarialConfig, context: FitContext
) -> None:
    """The privacy models learn from what the anonymiser returns now."""
    if config.privacy_epochs == 0:
        return
    players.start_optimisers(config)
    own = {name: part for name, part in players.parts.items() if name.startswith("privacy")}
    schedule = Schedule.of(len(data.train), config.batch, config.privacy_epochs, steps=200)
    stage = context.stage(
        "privacy models", config=config.model_dump(mode="json", include={*_PRIVATE})
    )
    stage.resume(**own)
    with (
        threads(threads_for(1e9)),
        context.progress.stage("privacy models", schedule.epochs) as bar,
    ):
        for epoch in stage.epochs(schedule.epochs, bar, note=_private_note):
            players.train()
            players.anonymiser.eval()
            draws = seeded(context.seed, "privacy models", epoch.number)
            batches = seen_batches(players, data.train, config, draws)
            for _ in range(schedule.steps // schedule.epochs):
                seen = next(batches)
                for number in range(len(players.privacy)):
                    epoch.add(privacy_step(players, number, seen)[1])


def play(
    name: str,
    players: ClipPlayers,
    data: LabelledClips,
    config: AdversarialConfig,
    context: FitContext,
    steps_of: Callable[[int], AnonymiserStep],
) -> None:
    """The game. `steps_of` gives the step of the anonymiser for an epoch."""
    stage = context.stage(name, config=config.model_dump(mode="json"))
    stage.resume(**players.parts)
    schedule = Schedule.of(len(data.train), config.batch, config.epochs, steps=STEPS)
    watch = ClipWatch(context.progress, action_floor=majority(data.actions, data.train.action))
    pictures = EpochPictures(data, context)
    with threads(threads_for(1e9)), context.progress.stage(name, schedule.epochs) as bar:
        for epoch in stage.epochs(schedule.epochs, bar, note=_note):
            learn = steps_of(epoch.number)
            order, draws, more, checks = (
                seeded(context.seed, purpose, epoch.number)
                for purpose in ("order", "draws", "more batches", "validation")
            )
            batches = seen_batches(players, data.train, config, more)
            validate = partial(validation_accuracy, players, data, config, checks)
            for step, rows in schedule.batches(epoch.number, order):
                players.train()
                restart(players, step, batches, config, context.seed)
                rate = schedule.cosine_rate(config.learning_rate, step)
                set_rate(players.optimisers["anonymiser_adam"], rate)
                seen, found = learn(step, rows, draws)
                epoch.add(found)
                measured = validate if step % config.check_every == 0 else None
                # The clips of this step come first: they are anonymised already.
                taken = action_updates(players, chain([seen], batches), config, measured)
                epoch.add({"action_updates": float(taken)})
                taken, found = privacy_updates(players, chain([seen], batches), config)
                epoch.add({"privacy_updates": taken / len(players.privacy), **found})
            epoch.add({"action_val": validate()})
            watch.look(epoch.means())
            pictures.draw(players.anonymiser, epoch.number + 1)


def whole_step(
    players: ClipPlayers, data: LabelledClips, config: AdversarialConfig
) -> AnonymiserStep:
    """The step of the anonymiser on a batch with all attributes and models."""

    def learn(
        step: int, rows: torch.Tensor, generator: torch.Generator
    ) -> tuple[SeenClips, Losses]:
        del step
        task, seen = whole_task(players, data, rows, config, generator)
        made, found = anonymiser_step(players, task, config)
        return seen(made), found

    return learn


def whole_task(
    players: ClipPlayers,
    data: LabelledClips,
    rows: torch.Tensor,
    config: AdversarialConfig,
    generator: torch.Generator,
) -> tuple[ClipTask, Callable[[torch.Tensor], SeenClips]]:
    """The task of a batch with all attributes and models, and what its opponents see of it."""
    device = next(players.anonymiser.parameters()).device
    action, private = (c[rows].to(device) for c in (data.train.action, data.train.private))
    models = range(len(players.privacy))
    if config.ensemble == "random":
        models = range(int(torch.randint(len(models), (), generator=generator)), len(models))[:1]
    task = ClipTask(
        x=pixels(data.train.x[rows], device),
        action=action,
        # The target, the greatest entropy, needs no label: records without one are hidden too.
        shown=torch.ones_like(private, dtype=torch.bool),
        models=tuple(models),
        frames=draw_frames(len(rows), config.frames, config.privacy_frames, generator),
    )
    return task, lambda made: SeenClips(made, action, private, task.frames)


def _private_note(means: dict[str, float]) -> str:
    return f"loss {means['privacy']:.3f}, right {100 * means['privacy_read']:.0f} %"


def _note(means: dict[str, float]) -> str:
    """What the bar shows of an epoch."""
    return (
        f"action {means['action']:.2f}, right {100 * means['action_val']:.0f} %;"
        f" suppress {means['suppress']:.3f}, privacy models right"
        f" {100 * means.get('privacy_read', float('nan')):.0f} %"
    )
