"""`spact`: self-supervised privacy preservation for action recognition (Dave et al., 2022).

The anonymiser keeps the action recognisable and removes whatever lets a branch without privacy
labels tell clips apart. The suppressed attributes are not used in the training; the audit measures
them.
"""

from __future__ import annotations

import torch

from withhold.core.errors import listing
from withhold.core.progress import Progress
from withhold.learn.journal import FitContext, Journal
from withhold.learn.nets.device import pick_device, threads, threads_for
from withhold.learn.training import Schedule, seeded, set_rate, take_step
from withhold.methods.clips.clip_watch import ClipWatch
from withhold.methods.clips.epoch_pictures import EpochPictures
from withhold.methods.clips.first_phases import RETURN, learn_actions, learn_to_return
from withhold.methods.clips.frame_modifier import FrameModifier, FrameSettings
from withhold.methods.clips.label_heads import majority
from withhold.methods.clips.labelled_clips import LabelledClips, pixels
from withhold.methods.clips.networks import anonymise, make_action_model, make_anonymiser
from withhold.methods.clips.spact.branch import make_branch
from withhold.methods.clips.spact.config import PRESETS, SpactConfig
from withhold.methods.clips.spact.step import (
    Networks,
    SpactBatch,
    anonymiser_step,
    opponents_step,
)
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

STEPS = 800  # unless epochs are set; half of them are the anonymiser's
# The settings that decide the phase of the branch.
_BRANCH = (
    *RETURN,
    "branch",
    "branch_model",
    "projection",
    "temperature",
    "branch_rate",
    "branch_epochs",
)


class SpactModifier(FrameModifier):
    """x'_t = f_A(x_t)."""

    method = "spact"


@method
class Spact:
    """The fitter."""

    name = "spact"
    config_type = SpactConfig
    presets = PRESETS
    modifier_type = SpactModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: SpactConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> SpactModifier:
        """Three phases in which each network learns by itself, then alternating batches."""
        progress.say(
            f"{listing(roles.suppress)}: measured by the audit; 'spact' learns without these labels"
        )
        data = LabelledClips.of(
            dataset, roles, config, progress, method=self.name, folder=journal.folder
        )
        context = FitContext(seed, progress, journal, data.digest)
        networks = prepared(data, config, context)
        alternate(networks, data, config, context)
        return SpactModifier(
            networks.anonymiser.cpu().eval(), journal.key, FrameSettings.of(config)
        )


def prepared(data: LabelledClips, config: SpactConfig, context: FitContext) -> Networks:
    """All networks after the phases in which each learns by itself."""
    device = pick_device()
    networks = Networks(
        make_anonymiser(config, context.seed, device),
        make_action_model(config, data.actions.width, context.seed, device),
        make_branch(config, context.seed, device),
        data.actions,
    )
    learn_to_return(networks.anonymiser, data, config, context)
    learn_actions(networks.action, networks.anonymiser, data, config, context)
    learn_branch(networks, data, config, context)
    networks.start_optimisers(config)
    return networks


def learn_branch(
    networks: Networks, data: LabelledClips, config: SpactConfig, context: FitContext
) -> None:
    """Third phase: the branch learns from what the anonymiser returns now."""
    if config.branch_epochs == 0:
        return
    networks.start_optimisers(config)
    optimiser = networks.optimisers["branch_adam"]
    schedule = Schedule.of(len(data.train), config.batch, config.branch_epochs, steps=300)
    stage = context.stage("branch", config=config.model_dump(mode="json", include={*_BRANCH}))
    stage.resume(branch=networks.branch, adam=optimiser)
    with threads(threads_for(1e9)), context.progress.stage("branch", schedule.epochs) as bar:
        for epoch in stage.epochs(schedule.epochs, bar):
            networks.train()
            networks.anonymiser.eval()
            draws = seeded(context.seed, "branch draws", epoch.number)
            order = seeded(context.seed, "branch", epoch.number)
            for _, rows in schedule.batches(epoch.number, order):
                batch = _batch(networks, data, rows, config, draws)
                with torch.no_grad():
                    made = anonymise(networks.anonymiser, batch.x)
                loss = networks.branch.loss(made, batch.drawn)
                take_step(optimiser, loss)
                epoch.add({"branch": loss})


def alternate(
    networks: Networks, data: LabelledClips, config: SpactConfig, context: FitContext
) -> None:
    """The first batch, the third and so on teach f_A; the others f_T and f_B."""
    stage = context.stage("spact", config=config.model_dump(mode="json"))
    stage.resume(**networks.parts)
    schedule = Schedule.of(len(data.train), config.batch, config.epochs, steps=STEPS)
    watch = ClipWatch(context.progress, action_floor=majority(data.actions, data.train.action))
    pictures = EpochPictures(data, context)
    with threads(threads_for(1e9)), context.progress.stage("spact", schedule.epochs) as bar:
        for epoch in stage.epochs(schedule.epochs, bar, note=_note):
            networks.train()
            order, draws = (
                seeded(context.seed, purpose, epoch.number) for purpose in ("order", "draws")
            )
            for step, rows in schedule.batches(epoch.number, order):
                batch = _batch(networks, data, rows, config, draws)
                if step % 2:
                    epoch.add(opponents_step(networks, batch))
                    continue
                rate = schedule.cosine_rate(config.learning_rate, step)
                set_rate(networks.optimisers["anonymiser_adam"], rate)
                epoch.add(anonymiser_step(networks, batch, config))
            watch.look(epoch.means())
            pictures.draw(networks.anonymiser, epoch.number + 1)


def _batch(
    networks: Networks,
    data: LabelledClips,
    rows: torch.Tensor,
    config: SpactConfig,
    generator: torch.Generator,
) -> SpactBatch:
    device = next(networks.anonymiser.parameters()).device
    drawn = networks.branch.draw(len(rows), config.frames, generator)
    return SpactBatch(pixels(data.train.x[rows], device), data.train.action[rows].to(device), drawn)


def _note(means: dict[str, float]) -> str:
    """What the bar shows of an epoch."""
    said = []
    if "action" in means:
        said.append(
            f"action {means['action']:.2f}, right {100 * means['action_read']:.0f} %;"
            f" branch {means['branch']:.2f}"
        )
    if "opponent_branch" in means:
        said.append(f"branch after its step {means['opponent_branch']:.2f}")
    return ", ".join(said)
