"""`meta`: joint attribute and model generalisation (Peng et al., 2023), on top of `adversarial`.

Every step of the anonymiser is tested on what it was not trained on: in odd steps on attributes,
in even steps on privacy models that the support set does not have. Sets are drawn again in each
epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.learn.journal import FitContext, Journal
from withhold.learn.training import seeded
from withhold.methods.clips.adversarial.fit import AnonymiserStep, play, prepared, whole_task
from withhold.methods.clips.adversarial.step import ClipPlayers, ClipTask, Losses, SeenClips
from withhold.methods.clips.frame_modifier import FrameModifier, FrameSettings
from withhold.methods.clips.labelled_clips import LabelledClips
from withhold.methods.clips.meta.config import PRESETS, MetaConfig
from withhold.methods.clips.meta.sets import (
    AttributeSets,
    attribute_sets,
    draw_rows,
    model_sets,
)
from withhold.methods.clips.meta.step import meta_step
from withhold.methods.clips.networks import anonymise
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


class MetaModifier(FrameModifier):
    """x'_t = f_D(x_t)."""

    method = "meta"


@method
class Meta:
    """The fitter."""

    name = "meta"
    config_type = MetaConfig
    presets = PRESETS
    modifier_type = MetaModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: MetaConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> MetaModifier:
        """The phases of `adversarial`, then the game with the meta update."""
        check_sets(dataset, roles, config, progress)
        data = LabelledClips.of(
            dataset, roles, config, progress, method=self.name, folder=journal.folder
        )
        context = FitContext(seed, progress, journal, data.digest)
        players = prepared(data, config, context)
        if config.update == "sgd":
            players.optimisers["anonymiser_adam"] = torch.optim.SGD(
                players.anonymiser.parameters(), config.learning_rate
            )
        play(
            self.name,
            players,
            data,
            config,
            context,
            lambda epoch: EpochSets.draw(players, data, config, seeded(seed, "sets", epoch)).step,
        )
        return MetaModifier(players.anonymiser.cpu().eval(), journal.key, FrameSettings.of(config))


def check_sets(dataset: Dataset, roles: Roles, config: MetaConfig, progress: Progress) -> None:
    """Say which sets there can be, and refuse if there are none."""
    if config.sets == "random":
        return
    attributes = [dataset.attribute(name) for name in roles.suppress]
    columns = sum(len(a.classes) if a.multilabel else 1 for a in attributes)
    if columns < 2 and len(config.privacy_models) < 2:
        raise UserError(
            "method 'meta' needs two suppressed attributes or two privacy_models to make a support"
            " and a query set that differ; add one, or use method 'adversarial'"
        )
    if columns < 2:
        progress.say(
            f"'{roles.suppress[0]}' is the only suppressed attribute: attribute-different sets"
            " need two, so all steps use model-different sets"
        )
    if len(config.privacy_models) < 2:
        progress.say(
            "there is a single privacy model: model-different sets need two, so all steps use"
            " attribute-different sets"
        )


@dataclass(frozen=True, eq=False)
class EpochSets:
    """The sets of one epoch; None where there cannot be any."""

    players: ClipPlayers
    data: LabelledClips
    config: MetaConfig
    attributes: AttributeSets | None
    models: tuple[tuple[int, ...], tuple[int, ...]] | None

    @classmethod
    def draw(
        cls,
        players: ClipPlayers,
        data: LabelledClips,
        config: MetaConfig,
        generator: torch.Generator,
    ) -> EpochSets:
        """Divide attributes and models anew."""
        attributes, models = None, None
        if config.sets != "random":
            codes = data.train.private
            if codes.shape[1] > 1:
                found = attribute_sets(data.private, codes, config.proportion, generator)
                attributes = found if found.usable else None
            if len(players.privacy) > 1:
                models = model_sets(len(players.privacy), config.proportion, generator)
        return cls(players, data, config, attributes, models)

    @property
    def step(self) -> AnonymiserStep:
        """The step of the anonymiser in this epoch."""
        return self._step

    def _step(
        self, step: int, rows: Tensor, generator: torch.Generator
    ) -> tuple[SeenClips, Losses]:
        """Odd steps: attribute-different sets; even steps: model-different sets."""
        support, query = self.tasks(step, rows, generator)
        found = meta_step(self.players, support, query, self.config)
        # The opponents learn from the batch itself, whatever the sets were made of.
        task, seen = whole_task(self.players, self.data, rows, self.config, generator)
        with torch.no_grad():
            made = anonymise(self.players.anonymiser, task.x)
        return seen(made), found

    def tasks(
        self, step: int, rows: Tensor, generator: torch.Generator
    ) -> tuple[ClipTask, ClipTask]:
        """The support and the query task of a step; together they have a batch of clips."""
        least = 2 if len(rows) >= 4 else 1  # batch norms need more than one clip if clips are small
        size = min(max(round(self.config.proportion * len(rows)), least), len(rows) - least)
        turn = self.attributes if step % 2 or self.models is None else None
        if turn is not None:
            one = draw_rows(turn.first, size, generator)
            two = draw_rows(turn.second, len(rows) - size, generator)
            return tuple(  # type: ignore[return-value]
                replace(self._task(some, generator), shown=turn.codes[some] >= 0)
                for some in (one, two)
            )
        support, query = self._task(rows[:size], generator), self._task(rows[size:], generator)
        if self.models is not None:
            support = replace(support, models=self.models[0])
            query = replace(query, models=self.models[1])
        return support, query

    def _task(self, rows: Tensor, generator: torch.Generator) -> ClipTask:
        return whole_task(self.players, self.data, rows, self.config, generator)[0]
