"""A paper's table: its figures beside ours, with frozen and with retrained attackers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from withhold.actions.audit import audit as evaluate
from withhold.audit.attackers.mlp_attacker import MlpLarge
from withhold.audit.metrics import Score
from withhold.bench.fit_row import fit_row, row_roles, unnamed
from withhold.bench.media_features import features_with_media
from withhold.bench.recipe import Recipe, RecipeRow
from withhold.bench.result_table import Cells, RecipeResult, percent
from withhold.bench.row_cache import cached_rows
from withhold.core.progress import Progress
from withhold.datasets.public import public
from withhold.learn.journal import FitContext
from withhold.learn.losses.entropy import prediction_entropy
from withhold.learn.nets.attribute_net import FrozenAttributeNet
from withhold.learn.nets.device import threads, threads_for
from withhold.learn.nets.space import Space
from withhold.learn.training import tensor_digest
from withhold.methods import Journal, read_config
from withhold.methods.features.mass.config import MassConfig
from withhold.methods.features.stages.attribute_model import (
    AttributeModelConfig,
    train_attribute_model,
)
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset

FloatArray = npt.NDArray[np.float32]
# The papers' tables have many rows, so each is attacked by the frozen model and one retrained
# network. The whole ladder is for `kind: audits`.
ATTACKERS = (MlpLarge(epochs=30, patience=6),)


@dataclass(frozen=True)
class PaperTableRow:
    """Figures (0..1) per attribute; distance moved; entropy of the frozen prediction in bits.

    A figure is the accuracy; of a multi-label attribute the cMAP, and `prevalence` has the cMAP of
    a guess. `seconds` is the time of this run: a stage found in the journal takes none.
    """

    label: str
    ignorant: dict[str, float]
    informed: dict[str, float]
    distortion: float
    entropy_bits: float
    seconds: float
    prevalence: dict[str, float] = field(default_factory=dict)


class PaperTableResult(RecipeResult):
    """Every row of a recipe."""

    rows: tuple[PaperTableRow, ...]

    def cells(self) -> Cells:
        """For each attribute paper / frozen / retrained."""
        specs = self.recipe.rows
        beside = any(spec.paper for spec in specs)
        noted = any(spec.paper_note for spec in specs)
        names = [f"{n} (cMAP)" if n in self._prevalence else n for n in self.recipe.measure]
        header = ["", *names, "moved", "entropy", *(["paper"] if noted else [])]
        lines = []
        for row, spec in zip(self.rows, specs, strict=True):
            line = [row.label]
            for name in self.recipe.measure:
                ours = f"{percent(row.ignorant[name])} / {percent(row.informed[name])}"
                paper = f"{spec.paper[name]:.1f}" if name in spec.paper else "–"
                line.append(f"{paper} / {ours}" if beside else ours)
            line += [f"{row.distortion:.2f}", f"{row.entropy_bits:.2f}"]
            lines.append(line + ([spec.paper_note] if noted else []))
        return header, lines

    @property
    def legend(self) -> str:
        """What the columns mean."""
        return (
            "Accuracy in % on the test part: the paper's (where it has one) / ours with the frozen"
            " model / ours with a model retrained on the release. moved: mean distance between a"
            " record and its release. entropy: of the frozen model's prediction of the suppressed"
            f" attribute, in bits.{self._guesses}{self.source}"
        )

    @property
    def _prevalence(self) -> dict[str, float]:
        return self.rows[0].prevalence if self.rows else {}

    @property
    def _guesses(self) -> str:
        said = [f"{percent(value)} for {name}" for name, value in self._prevalence.items()]
        if not said:
            return ""
        return (
            " cMAP: mean over the labels of the average precision; a guess has that of the"
            f" prevalence, {', '.join(said)}."
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures, for a program, with the paper's."""
        found = super().to_dict()
        for row, spec in zip(found["rows"], self.recipe.rows, strict=True):
            row["paper"] = spec.paper
        return found


def run_paper_table(recipe: Recipe, output: Path, *, progress: Progress) -> PaperTableResult:
    """Fit and attack every row, or resume after an interruption."""
    if recipe.extractors:
        data = features_with_media(recipe, output.parent / "media", progress)
    else:
        data = public(recipe.data, progress=progress)
    # Many rows and recipes have the same attribute models and encoders: one journal for all.
    journal = Journal(output.parent / "journal")
    frozen = _frozen_models(data, recipe, journal, progress)
    facts = [data.digest(), repr(ATTACKERS)]
    make = partial(_run_row, recipe, data=data, frozen=frozen, journal=journal, progress=progress)
    rows = cached_rows(recipe, output, facts, PaperTableRow, make)
    return PaperTableResult(recipe, rows).write(output)


def _run_row(
    recipe: Recipe,
    row: RecipeRow,
    *,
    data: Dataset,
    frozen: dict[str, FrozenModel],
    journal: Journal,
    progress: Progress,
) -> PaperTableRow:
    progress.say(f"row: {row.label}")
    started = time.monotonic()
    roles = row_roles(recipe, row)
    release = data
    if row.suppress:
        bundle, _ = fit_row(recipe, row, data, roles, progress, journal=journal)
        release = data.with_features(bundle.modifier.transform(data.x))
    seconds = time.monotonic() - started
    evidence = evaluate(
        data,
        release,
        roles.suppress,
        roles.preserve,
        hidden=unnamed(recipe, roles),
        models=frozen,
        attackers=ATTACKERS,
        seed=recipe.seed,
        progress=progress,
    )
    scores = {name: evidence.attributes[name] for name in recipe.measure}
    test = release.part("test")
    labels = {name: test.attribute(name) for name in (*recipe.measure, roles.suppress[0])}
    logits = torch.from_numpy(frozen[roles.suppress[0]].logits(test.x))
    multilabel = labels[roles.suppress[0]].multilabel
    return PaperTableRow(
        row.label,
        {name: _figure(a.ignorant) for name, a in scores.items() if a.ignorant},
        {name: _figure(a.informed) for name, a in scores.items()},
        evidence.distortion.mean if evidence.distortion else 0.0,
        float(prediction_entropy(logits, multilabel=multilabel)) / float(np.log(2)),
        round(seconds, 1),
        {name: _prevalence(labels[name]) for name in recipe.measure if labels[name].multilabel},
    )


def _figure(score: Score) -> float:
    """The accuracy, or the cMAP of a multi-label attribute."""
    return score.accuracy if score.cmap is None else score.cmap


def _prevalence(attribute: Attribute) -> float:
    """The mean share of records that have a label: the cMAP of a guess.

    As in the cMAP, a label that all test records have, or none, does not count.
    """
    shares = attribute.counts / np.maximum((attribute.codes >= 0).sum(axis=0), 1)
    mixed = (shares > 0) & (shares < 1)
    return float(shares[mixed].mean()) if mixed.any() else float("nan")


@dataclass(frozen=True, eq=False)
class FrozenModel:
    """A model of one attribute, trained on the originals; `mass` trains against such models."""

    network: FrozenAttributeNet
    space: Space

    @torch.inference_mode()
    def logits(self, x: FloatArray) -> FloatArray:
        """Its prediction for features x: (n, d)."""
        out: FloatArray = self.network(self.space.enter(torch.from_numpy(x)))[1].numpy()
        return out


def _frozen_models(
    data: Dataset, recipe: Recipe, journal: Journal, progress: Progress
) -> dict[str, FrozenModel]:
    """A model for each measured attribute, as in the papers' evaluation.

    They have the settings that `mass` uses, so its fits find them in the journal.
    """
    config = AttributeModelConfig()
    if recipe.method == "mass":
        config = MassConfig.model_validate(read_config("mass", recipe.config)).attribute_model
    train = data.part("train")
    space = Space.of(train.x)
    x = space.enter(torch.from_numpy(train.x))
    context = FitContext(recipe.seed, progress, journal, tensor_digest(x))
    models = {}
    with threads(threads_for(512 * train.dimension * 256.0)):
        for name in recipe.measure:
            network = train_attribute_model(x, train.attribute(name), config, context)
            models[name] = FrozenModel(network.frozen(), space)
    return models
