"""The phases before anonymiser and opponents meet: each network learns by itself (SPAct, C.4).

anonymiser    mean |f(x) - x|
action model  cross-entropy of the preserved attributes, on f(x)
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from withhold.learn.journal import FitContext
from withhold.learn.nets.device import threads, threads_for
from withhold.learn.training import Schedule, seeded, take_step
from withhold.methods.clips.clip_config import ClipConfig
from withhold.methods.clips.label_heads import accuracy, reading_loss
from withhold.methods.clips.labelled_clips import LabelledClips, pixels
from withhold.methods.clips.networks import adam, anonymise, clip_scores

_RATE = 1e-3  # of the reconstruction: the paper's base rate
# The settings that decide a phase: fits that differ in others only can use the same checkpoint.
RETURN = (
    "height",
    "width",
    "frames",
    "step",
    "unet_width",
    "unet_depth",
    "batch",
    "reconstruction_epochs",
)
ACTIONS = (*RETURN, "action_model", "action_rate", "action_epochs")


def learn_to_return(
    anonymiser: nn.Module, data: LabelledClips, config: ClipConfig, context: FitContext
) -> None:
    """Reconstruction: the game then starts with frames as they are."""
    if config.reconstruction_epochs == 0:
        return
    device = next(anonymiser.parameters()).device
    optimiser = adam(anonymiser, _RATE)
    schedule = Schedule.of(len(data.train), config.batch, config.reconstruction_epochs, steps=150)
    stage = context.stage(
        "reconstruction", config=config.model_dump(mode="json", include={*RETURN})
    )
    stage.resume(anonymiser=anonymiser, adam=optimiser)
    with (
        threads(threads_for(1e9)),
        context.progress.stage("reconstruction", schedule.epochs) as bar,
    ):
        for epoch in stage.epochs(schedule.epochs, bar):
            anonymiser.train()
            order = seeded(context.seed, "reconstruction", epoch.number)
            for _, rows in schedule.batches(epoch.number, order):
                x = pixels(data.train.x[rows], device)
                loss = F.l1_loss(anonymise(anonymiser, x), x)
                take_step(optimiser, loss)
                epoch.add({"l1": loss})


def learn_actions(
    action: nn.Module,
    anonymiser: nn.Module,
    data: LabelledClips,
    config: ClipConfig,
    context: FitContext,
) -> None:
    """The action model learns from what the anonymiser returns now."""
    if config.action_epochs == 0:
        return
    device = next(action.parameters()).device
    optimiser = adam(action, config.action_rate)
    schedule = Schedule.of(len(data.train), config.batch, config.action_epochs, steps=300)
    stage = context.stage("action model", config=config.model_dump(mode="json", include={*ACTIONS}))
    stage.resume(action=action, adam=optimiser)
    with (
        threads(threads_for(1e9)),
        context.progress.stage("action model", schedule.epochs) as bar,
    ):
        for epoch in stage.epochs(schedule.epochs, bar, note=action_note):
            action.train()
            anonymiser.eval()
            order = seeded(context.seed, "action model", epoch.number)
            for _, rows in schedule.batches(epoch.number, order):
                with torch.no_grad():
                    made = anonymise(anonymiser, pixels(data.train.x[rows], device))
                codes = data.train.action[rows].to(device)
                scores = clip_scores(action, made)
                loss = reading_loss(data.actions, scores, codes)
                take_step(optimiser, loss)
                epoch.add({"action": loss, "action_read": accuracy(data.actions, scores, codes)})


def action_note(means: dict[str, float]) -> str:
    """What the bar shows of an epoch."""
    return f"loss {means['action']:.3f}, right {100 * means['action_read']:.0f} %"
