"""Methods for features on features of the same clips, beside the methods on pixels."""

from __future__ import annotations

import time
from collections.abc import Mapping

from withhold.actions.fit import fit_bundle
from withhold.audit.attackers import get_attackers
from withhold.audit.feature_views import FeatureViews
from withhold.bench.clip_figures import ClipFigures, ModelReading, by_video, reading
from withhold.bench.clip_set import ClipSet, ClipTarget
from withhold.bench.fit_row import bench_key, labelled_release, row_config, row_method
from withhold.bench.recipe import Recipe, RecipeRow
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.media.extract_features import extract
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

READERS = ("logistic", "kernel", "trees", "mlp-small", "mlp-large")


def feature_figures(
    recipe: Recipe, row: RecipeRow, clips: ClipSet, targets: Mapping[str, ClipTarget], *, seed: int
) -> ClipFigures:
    """Fit the row's method on features of the clips, and read its release with fresh attackers.

    Action and private attributes are read by the same attackers; the best on test is the figure of
    both. Protocols with several sets or novel classes need clips.
    """
    how = recipe.clips
    if how.private_data or how.novel or how.target_data:
        raise UserError(f"row '{row.label}': a method for features needs one set and no `novel`")
    if not recipe.extractors:
        raise UserError(f"row '{row.label}': a method for features needs `extractors`")
    spec = recipe.extractors[0]
    data = extract(clips.dataset(), extractor=spec.name, settings=spec.settings, progress=Silent())
    if len(data) != len(clips):
        raise UserError(f"extractor '{spec.name}' cannot use all clips of {recipe.data}")
    roles = Roles.of(row.suppress or recipe.suppress, row.preserve)
    started = time.perf_counter()
    bundle = fit_bundle(
        data,
        roles,
        method=row_method(recipe, row),
        config=row_config(recipe, row),
        seed=seed,
        key=bench_key(seed),
        progress=Silent(),
    )
    seconds = time.perf_counter() - started
    release = labelled_release(bundle, data)
    fresh = {name: _readings(release, release, target, seed) for name, target in targets.items()}
    fixed = {name: _readings(data, release, target, seed) for name, target in targets.items()}
    action, *groups = targets
    best = max(fresh[action].items(), key=lambda one: one[1].value)
    return ClipFigures(
        action=dict([best]) | fresh[action],
        action_fixed=fixed[action],
        attack={g: fresh[g] for g in groups},
        ignorant={g: fixed[g] for g in groups},
        distortion=None,
        seconds=seconds,
    )


def _readings(
    learned: Dataset, read: Dataset, target: ClipTarget, seed: int
) -> dict[str, ModelReading]:
    """What attackers that learn from one dataset read from the test part of another."""
    train, val, test = (target.rows(part) for part in ("train", "val", "test"))
    views = FeatureViews.of(learned.x[train], seed=seed)
    truth = target.truth
    out = {}
    for attacker in get_attackers(READERS):
        if attacker.declines(len(train), learned.dimension, len(truth.classes)):
            continue
        fitted = attacker.fit(
            views.see(attacker.view, learned.x[train]),
            truth.rows(train),
            views.see(attacker.view, learned.x[val]),
            truth.rows(val),
            seed=seed,
        )
        found = fitted.logits(views.see(attacker.view, read.x[test]))
        scores, said = target.scores(found), target.own.rows(test)
        if target.video is not None:
            scores, said = by_video(scores, said, target.video[test])
        out[attacker.name] = reading(scores, said)
    return out
