"""What fresh target models read from released clips (SPAct, section 4; meta, protocol A).

Three phases: the method is fitted, and all its models but the anonymiser are thrown away; fresh
action models and fresh privacy models of several architectures learn from the released training
part; they are measured on the released test part. Models of the originals are measured beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.audit.attackers.pixel_cnn import PixelCnn, PixelPrediction
from withhold.audit.metrics import score
from withhold.bench.clip_readers import target_model
from withhold.bench.clip_set import ClipTarget, FloatArray, PixelArray, planes
from withhold.bench.clip_settings import ClipSettings
from withhold.records.attribute import Attribute


@dataclass(frozen=True)
class ModelReading:
    """The figures of one model on the test part; cMAP and F1 of a multi-label task."""

    accuracy: float
    cmap: float | None = None
    f1: float | None = None

    @property
    def value(self) -> float:
        """cMAP of a multi-label task, else the accuracy."""
        return self.accuracy if self.cmap is None else self.cmap


@dataclass(frozen=True)
class ClipFigures:
    """Figures of one release.

    action: by fresh action model. action_fixed: by models of the originals. attack and ignorant:
    by group of private attributes, then by model, fresh or of the originals.
    """

    action: dict[str, ModelReading]
    action_fixed: dict[str, ModelReading]
    attack: dict[str, dict[str, ModelReading]]
    ignorant: dict[str, dict[str, ModelReading]]
    distortion: float | None
    seconds: float

    def top1(self) -> float:
        """Of the first action model that the recipe names, trained on the release."""
        return next(iter(self.action.values())).value

    def worst(self, group: str, *, fixed: bool = False) -> float:
        """What the best privacy model reads; `fixed`: of those of the originals."""
        found = (self.ignorant if fixed or not self.attack else self.attack)[group]
        return max(one.value for one in found.values())

    def worst_f1(self, group: str) -> float | None:
        """The highest F1 of a privacy model."""
        found = [one.f1 for one in (self.attack or self.ignorant)[group].values()]
        return max((f for f in found if f is not None), default=None)


def learn(model: PixelCnn, clips: PixelArray, target: ClipTarget, seed: int) -> PixelPrediction:
    """The model after learning from the train and val parts of these clips (n, t, h, w, 3)."""
    train, val = target.rows("train"), target.rows("val")
    return model.fit(
        planes(clips[train]),
        target.truth.rows(train),
        planes(clips[val]),
        target.truth.rows(val),
        seed=seed,
    )


def read(model: PixelPrediction, clips: PixelArray, target: ClipTarget) -> ModelReading:
    """What the model says of the test part; records of one video are averaged."""
    rows = target.rows("test")
    scores, truth = target.scores(model.logits(planes(clips[rows]))), target.own.rows(rows)
    if target.video is not None:
        scores, truth = by_video(scores, truth, target.video[rows])
    return reading(scores, truth)


def reading(scores: FloatArray, truth: Attribute) -> ModelReading:
    """Accuracy, or accuracy of labels, cMAP and F1 at 0.5."""
    found = score(scores, truth, draws=0)
    if truth.multilabel:
        return ModelReading(found.accuracy, found.cmap, found.f1)
    return ModelReading(found.accuracy)


def by_video(
    scores: FloatArray, truth: Attribute, video: npt.NDArray[np.int64]
) -> tuple[FloatArray, Attribute]:
    """Mean scores of the records of each video, which share their labels."""
    _, first, where = np.unique(video, return_index=True, return_inverse=True)
    total = np.zeros((len(first), scores.shape[1]), np.float32)
    np.add.at(total, where, scores)
    return total / np.bincount(where).astype(np.float32)[:, None], truth.rows(first)


def guessing(target: ClipTarget) -> float:
    """What a model that sees nothing reaches: the majority, or for cMAP the mean prevalence."""
    test = target.own.rows(target.rows("test"))
    if not test.multilabel:
        return test.majority
    known = test.codes >= 0
    share = (test.codes == 1).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    mixed = (share > 0) & (share < 1)
    return float(share[mixed].mean()) if mixed.any() else 0.0


def figures(
    released: Mapping[str, PixelArray],
    targets: Mapping[str, ClipTarget],
    raw: Mapping[str, Mapping[str, PixelPrediction]],
    how: ClipSettings,
    *,
    seed: int,
    distortion: float | None,
    seconds: float,
) -> ClipFigures:
    """Measure a release. `released` has the clips of each set; `raw` models of the originals.

    The first target is the action; the others are groups of private attributes. The first `warm`
    privacy models also start from the model of the originals.
    """
    action, *groups = targets
    fixed = {
        name: {m: read(model, released[targets[name].of], targets[name]) for m, model in of.items()}
        for name, of in raw.items()
    }
    fresh: dict[str, dict[str, ModelReading]] = {}
    learned: dict[tuple[str, str], PixelPrediction] = {}  # by what was learned, then by model
    for name, target in targets.items():
        if how.ignorant and name != action:
            continue
        clips, found = released[target.of], {}
        for m in how.action_models if name == action else how.attackers:
            models: dict[str, PixelCnn] = {m: target_model(m, how)}
            if name != action and m in how.attackers[: how.warm]:
                models[f"{m} from the raw model"] = models[m].warm(raw[name][m].state())
            for label, model in models.items():
                key = (target.truth.name, label)
                if key not in learned:
                    learned[key] = learn(model, clips, target, seed)
                found[label] = read(learned[key], clips, target)
        fresh[name] = found
    return ClipFigures(
        action=fresh.get(action, {}),
        action_fixed=fixed[action],
        attack={g: fresh[g] for g in groups if g in fresh},
        ignorant={g: fixed[g] for g in groups},
        distortion=distortion,
        seconds=seconds,
    )


def of_originals(raw: Mapping[str, Mapping[str, ModelReading]]) -> ClipFigures:
    """Figures of the originals: models of the originals are both fresh and ignorant."""
    action, *groups = raw
    one, others = dict(raw[action]), {g: dict(raw[g]) for g in groups}
    return ClipFigures(one, one, others, others, 0.0, 0.0)
