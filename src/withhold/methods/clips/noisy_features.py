"""`noisy-features`: clips with the content of the original and the style of noise.

The "noisy features" baseline of SPAct (supplement, section C): the transformation of sensor signals
by Zhang et al. (2021), with a U-Net for its TransNet and an R3D-18 for its LossNet. No label of a
suppressed attribute is used. With phi_j the feature maps of the action model f_T after stage j, G_j
their Gram matrix and z uniform noise, the anonymiser f_A minimises

    |phi_4(x') - phi_4(x)|^2 / |phi_4(x)|^2
        + w mean over j = 1, 2, 3 of |G_j(x') - G_j(z)|^2 / |G_j(z)|^2,   x' = f_A(x).

f_T learns the action first and stays as it is. The supplement gives no equation; the losses are
those of style transfer (Johnson et al., 2016), relative so that w has no unit.
"""

from __future__ import annotations

from typing import Annotated, Any

import torch
from pydantic import AfterValidator, Field
from torch import Tensor, nn

from withhold.core.errors import listing
from withhold.core.progress import Progress
from withhold.learn.journal import FitContext, Journal
from withhold.learn.nets.channels_last import channels_last
from withhold.learn.nets.device import pick_device, threads, threads_for
from withhold.learn.training import Schedule, seeded, set_rate, take_step
from withhold.methods.clips.clip_config import ClipConfig, ClipModelName, model_and_width
from withhold.methods.clips.clip_watch import ClipWatch
from withhold.methods.clips.epoch_pictures import EpochPictures
from withhold.methods.clips.first_phases import learn_actions, learn_to_return
from withhold.methods.clips.frame_modifier import FrameModifier, FrameSettings
from withhold.methods.clips.label_heads import accuracy, majority
from withhold.methods.clips.labelled_clips import LabelledClips, pixels
from withhold.methods.clips.networks import (
    adam,
    anonymise,
    frozen,
    make_action_model,
    make_anonymiser,
)
from withhold.methods.clips.spact.config import PRESETS as SPACT
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

STEPS = 400  # unless epochs are set
PRESETS = {"paper": {k: v for k, v in SPACT["paper"].items() if not k.startswith("branch")}}


def _residual(text: str) -> str:
    if model_and_width(text)[0] == "c3d":
        raise ValueError("c3d has no stages to compare; use r3d18, r2plus1d18 or r3d50")
    return text


class NoisyFeaturesConfig(ClipConfig):
    """L(f_A) = content(x', x) + w style(x', noise)."""

    weight: float = Field(1.0, ge=0, le=1e6, description="w, weight of the style of noise")
    action_model: Annotated[ClipModelName, AfterValidator(_residual)] = Field(
        "r3d18:0.25", description="network of the action whose features are compared, and its width"
    )


class NoisyFeaturesModifier(FrameModifier):
    """x'_t = f_A(x_t)."""

    method = "noisy-features"


@method
class NoisyFeatures:
    """The fitter."""

    name = "noisy-features"
    config_type = NoisyFeaturesConfig
    presets = PRESETS
    modifier_type = NoisyFeaturesModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: NoisyFeaturesConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> NoisyFeaturesModifier:
        """Two phases in which each network learns by itself, then the anonymiser alone."""
        progress.say(
            f"{listing(roles.suppress)}: measured by the audit; '{self.name}' learns without these"
            " labels"
        )
        data = LabelledClips.of(
            dataset, roles, config, progress, method=self.name, folder=journal.folder
        )
        context = FitContext(seed, progress, journal, data.digest)
        device = pick_device()
        anonymiser = make_anonymiser(config, seed, device)
        action = make_action_model(config, data.actions.width, seed, device)
        learn_to_return(anonymiser, data, config, context)
        learn_actions(action, anonymiser, data, config, context)
        with frozen(action):
            learn_style(anonymiser, action.eval(), data, config, context)
        return NoisyFeaturesModifier(anonymiser.cpu().eval(), journal.key, FrameSettings.of(config))


def learn_style(
    anonymiser: nn.Module,
    action: nn.Module,
    data: LabelledClips,
    config: NoisyFeaturesConfig,
    context: FitContext,
) -> None:
    """The anonymiser learns; the action model stays as it is."""
    device = next(anonymiser.parameters()).device
    optimiser = adam(anonymiser, config.learning_rate)
    schedule = Schedule.of(len(data.train), config.batch, config.epochs, steps=STEPS)
    stage = context.stage("noisy-features", config=config.model_dump(mode="json"))
    stage.resume(anonymiser=anonymiser, adam=optimiser)
    watch = ClipWatch(context.progress, action_floor=majority(data.actions, data.train.action))
    pictures = EpochPictures(data, context)
    with (
        threads(threads_for(1e9)),
        context.progress.stage("noisy-features", schedule.epochs) as bar,
    ):
        for epoch in stage.epochs(schedule.epochs, bar, note=_note):
            anonymiser.train()
            order, draws = (
                seeded(context.seed, purpose, epoch.number) for purpose in ("order", "noise")
            )
            for step, rows in schedule.batches(epoch.number, order):
                x = pixels(data.train.x[rows], device)
                noise = torch.rand(x.shape, generator=draws).to(device)
                made = anonymise(anonymiser, x)
                content, style, scores = losses(action, made, x, noise)
                set_rate(optimiser, schedule.cosine_rate(config.learning_rate, step))
                take_step(optimiser, content + config.weight * style)
                codes = data.train.action[rows].to(device)
                epoch.add(
                    {
                        "content": content,
                        "style": style,
                        "action_read": accuracy(data.actions, scores.detach(), codes),
                        "spread": made.detach().std(0).mean(),
                    }
                )
            watch.look(epoch.means())
            pictures.draw(anonymiser, epoch.number + 1)


def losses(action: Any, made: Tensor, x: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Content and style of the equation, and what f_T says of the anonymised clips.

    Clips are (b, t, 3, h, w).
    """
    found = _maps(action, made)
    with torch.no_grad():
        wanted, noisy = _maps(action, x)[-1], _maps(action, noise)[:-1]
    content = _relative(found[-1], wanted)
    style = torch.stack(
        [_relative(gram(a), gram(b)) for a, b in zip(found[:-1], noisy, strict=True)]
    ).mean()
    return content, style, action.fc(found[-1].mean(dim=(2, 3, 4)))


def gram(maps: Tensor) -> Tensor:
    """The mean over time and place of the products of channels, (b, c, ...) to (b, c, c)."""
    flat = maps.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.shape[2]


def _maps(action: Any, clips: Tensor) -> list[Tensor]:
    found: list[Tensor] = action.maps(channels_last(clips.transpose(1, 2)))
    return found


def _relative(found: Tensor, wanted: Tensor) -> Tensor:
    """|found - wanted|^2 / |wanted|^2 over all clips of a batch."""
    return (found - wanted).square().sum() / wanted.square().sum().clamp(min=1e-12)


def _note(means: dict[str, float]) -> str:
    """What the bar shows of an epoch."""
    return (
        f"content {means['content']:.3f}, style {means['style']:.3f}, action right"
        f" {100 * means['action_read']:.0f} %"
    )
