"""Methods on clips, attacked by fresh models: `kind: clips` (SPAct and meta, all protocols).

Every row is a method with its settings, fitted once for each seed. A method for features gets
features of the same clips by the recipe's extractor, and is read by attackers of features.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from withhold.actions.fit import fit_bundle
from withhold.audit.attackers.pixel_cnn import PixelPrediction
from withhold.audit.pool import run_all, work
from withhold.bench.clip_attention import draw_attention
from withhold.bench.clip_features import feature_figures
from withhold.bench.clip_figures import ClipFigures, figures, guessing, learn, of_originals, read
from withhold.bench.clip_pictures import EXAMPLES, draw_pictures, some_frames
from withhold.bench.clip_readers import target_model
from withhold.bench.clip_result import ClipResult, ClipRow, draw_clip_tradeoff
from withhold.bench.clip_set import ClipSet, ClipTarget, PixelArray, planes
from withhold.bench.clip_settings import ClipSettings
from withhold.bench.fit_row import bench_key, row_config, row_method
from withhold.bench.pixel_set import folder_of
from withhold.bench.recipe import Recipe, RecipeRow
from withhold.bench.row_cache import keep_row, recipe_key, row_folder, row_key, write_once
from withhold.core.atomic import write_bytes
from withhold.core.errors import UserError
from withhold.core.progress import Progress, Silent
from withhold.datasets.media_sets import public_media
from withhold.methods import Journal, method_names, read_config
from withhold.methods.clips.spact.config import SpactConfig
from withhold.records.roles import Roles
from withhold.records.samples import Clip

OURS, PRIVATE = "clips", "private"  # the sets that targets are in


@dataclass(frozen=True, eq=False)
class ClipCase:
    """The clips of the fit, the clips of the targets by set, and the targets; action first."""

    fit: ClipSet
    sets: Mapping[str, ClipSet]
    targets: Mapping[str, ClipTarget]

    @classmethod
    def of(cls, recipe: Recipe, output: Path, progress: Progress) -> ClipCase:
        """Read the sets, and divide them as the protocol of the recipe says."""
        how = recipe.clips
        read = partial(_read, how=how, output=output, progress=progress)
        ours = read(recipe.data, recipe.data_settings, recipe.most)
        theirs = None
        if how.private_data:
            theirs = read(how.private_data, how.private_settings, how.private_most)
        fit = ours if theirs is None else ours.beside(theirs)
        if how.target_data:
            ours = read(how.target_data, how.target_settings, recipe.most)
        if how.target_private:
            theirs = read(how.target_private, how.target_private_settings, how.private_most)
        if how.novel:  # the same set, divided by class
            fit = fit.with_classes(how.novel, seen=True)
            ours = ours.with_classes(how.novel, seen=False)
            theirs = None if theirs is None else theirs.with_classes(how.novel, seen=False)
        sets = {OURS: ours} | ({} if theirs is None else {PRIVATE: theirs})
        where = OURS if theirs is None else PRIVATE
        truth = ours.truth(how.action, (how.action,))
        targets = {how.action: ClipTarget.made(OURS, ours, truth, how.video)}
        targets |= _private_targets(where, sets[where], attacked(recipe), how)
        for name, target in targets.items():
            for part in ("train", "test"):
                if not len(target.rows(part)):
                    raise UserError(f"no clip of the {part} part has a label '{name}'")
        return cls(fit, sets, targets)

    def digest(self) -> str:
        """A hash of all clips and labels."""
        return row_key([s.dataset().digest() for s in (self.fit, *self.sets.values())])


def _private_targets(
    where: str, clips: ClipSet, groups: Mapping[str, tuple[str, ...]], how: ClipSettings
) -> dict[str, ClipTarget]:
    """A target for each group of private attributes; `together`: with one truth for all."""
    if not how.together:
        return {
            group: ClipTarget.made(where, clips, clips.truth(group, names), how.video)
            for group, names in groups.items()
        }
    truth = clips.binary_labels("private", [name for names in groups.values() for name in names])
    targets, first = {}, 0
    for group, names in groups.items():
        last = first + len(clips.binary_labels(group, names).classes)
        targets[group] = ClipTarget.made(where, clips, truth, how.video, slice(first, last))
        first = last
    return targets


def attacked(recipe: Recipe) -> dict[str, tuple[str, ...]]:
    """The groups of private attributes that are read."""
    if recipe.clips.attack:
        return {**recipe.clips.attack}
    names = Roles.of(recipe.suppress).suppress
    return {", ".join(names): names}


def run_clips(recipe: Recipe, output: Path, *, progress: Progress) -> ClipResult:
    """Fit, release and read every row for every seed, or resume after an interruption."""
    how = recipe.clips
    if not how.action:
        raise UserError(f"recipe {recipe.name}: `clips` needs `action`, the attribute to keep")
    case = ClipCase.of(recipe, output, progress)
    digest = case.digest()
    raw = _raw_models(case, how, digest, output, progress)
    cost = sum(_cost(case, name, model, how) for name, model in _models(case, how))
    tasks = [
        (2.0 * cost, (recipe, row, case, raw[seed], seed, digest, output))
        for seed in how.seeds
        for row in recipe.rows
    ]
    found: dict[str, dict[int, ClipFigures]] = {row.label: {} for row in recipe.rows}
    with progress.stage("fits and targets", work(tasks)) as stage:
        for i, figures in run_all(_measured, tasks, workers=None, stage=stage):
            _, row, _, _, seed, _, _ = tasks[i][1]
            found[row.label][seed] = figures
    rows = tuple(
        ClipRow(row.label, row_method(recipe, row), tuple(found[row.label][s] for s in how.seeds))
        for row in recipe.rows
    )
    guess = {name: guessing(target) for name, target in case.targets.items()}
    labels = {n: len(t.own.classes) if t.own.multilabel else 0 for n, t in case.targets.items()}
    result = ClipResult(recipe, rows, guess, labels)
    write_bytes(output / result.figure, draw_clip_tradeoff(result).encode())
    test = case.targets[how.action].rows("test")
    draw_pictures(recipe, some_frames(case.sets[OURS].clips, test), output)
    return result.write(output)


def _read(
    name: str,
    settings: dict[str, Any],
    most: int | None,
    how: ClipSettings,
    output: Path,
    progress: Progress,
) -> ClipSet:
    file = public_media(name, output / "media", most=most, settings=settings)
    return ClipSet.of(file, how, progress)


def _models(case: ClipCase, how: ClipSettings) -> list[tuple[str, str]]:
    """What is learned, as a target that has it, with every network that learns it."""
    different: dict[str, str] = {}
    for name, target in case.targets.items():
        different.setdefault(target.truth.name, name)
    return [
        (name, model)
        for name in different.values()
        for model in (how.action_models if name == how.action else how.attackers)
    ]


def _cost(case: ClipCase, name: str, model: str, how: ClipSettings) -> float:
    target = case.targets[name]
    shape = (how.kept, 3, how.height, how.width)
    return target_model(model, how).seconds_for(len(target.rows("train")), shape)


def _raw_models(
    case: ClipCase, how: ClipSettings, digest: str, output: Path, progress: Progress
) -> dict[int, dict[str, dict[str, PixelPrediction]]]:
    """Models of the originals for every seed; those that were made before are read."""
    tasks = [
        (_cost(case, name, m, how), (case, name, m, how, seed, digest, output))
        for seed in how.seeds
        for name, m in _models(case, how)
    ]
    out: dict[int, dict[str, dict[str, PixelPrediction]]] = {
        seed: {name: {} for name in case.targets} for seed in how.seeds
    }
    with progress.stage("models of the originals", work(tasks)) as stage:
        found = dict(run_all(_raw_model, tasks, workers=None, stage=stage))
    for i, model in sorted(found.items()):  # in the order of the recipe, whichever finished first
        _, learned, m, _, seed, _, _ = tasks[i][1]
        for name, target in case.targets.items():
            if target.truth.name == case.targets[learned].truth.name:
                out[seed][name][m] = model
    return out


def _raw_model(task: tuple[ClipCase, str, str, ClipSettings, int, str, Path]) -> PixelPrediction:
    case, name, model, how, seed, digest, output = task
    target, reader = case.targets[name], target_model(model, how)
    clips = case.sets[target.of].clips
    learned = target.truth.name
    saved = folder_of(output, seed) / f"{row_folder(Path(), f'{learned} {model}').name}.npz"
    effort = how.model_dump(mode="json", exclude={"seeds", "ignorant", "attackers", "warm"})
    key = row_key([digest, learned, model, effort, seed])

    def make() -> None:
        saved.parent.mkdir(parents=True, exist_ok=True)
        held = io.BytesIO()
        state: dict[str, Any] = learn(reader, clips, target, seed).state()
        np.savez(held, **state)
        write_bytes(saved, held.getvalue())

    write_once(saved, key, make)
    with np.load(saved) as arrays:
        return reader.loaded_for(planes(clips[:1]), target.truth, dict(arrays))


_Task = tuple[Recipe, RecipeRow, ClipCase, dict[str, dict[str, PixelPrediction]], int, str, Path]


def _measured(task: _Task) -> ClipFigures:
    """The figures of one row; those that were computed before are read."""
    recipe, row, case, raw, seed, digest, output = task
    folder = row_folder(folder_of(output, seed), row.label)

    def make() -> ClipFigures:
        method = row_method(recipe, row)
        if method in method_names("features"):
            if method != "identity":
                return feature_figures(recipe, row, case.sets[OURS], case.targets, seed=seed)
            return of_originals(
                {
                    name: {
                        m: read(model, case.sets[t.of].clips, t) for m, model in raw[name].items()
                    }
                    for name, t in case.targets.items()
                }
            )
        roles = Roles.of(row.suppress or recipe.suppress, row.preserve or recipe.clips.action)
        modifier, seconds = _fitted(recipe, row, case, roles, seed, folder)
        released = {name: _released(modifier, s.clips) for name, s in case.sets.items()}
        before, after = case.sets[OURS].clips, released[OURS]
        test = case.targets[recipe.clips.action].rows("test")
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / EXAMPLES, some_frames(after, test).tobytes())
        config = read_config(method, row_config(recipe, row))
        if isinstance(config, SpactConfig):
            draw_attention(
                folder,
                some_frames(before, test),
                {
                    case.targets[name].truth.name: of
                    for name, of in raw.items()
                    if name != recipe.clips.action
                },
                data=case.fit.dataset(),
                roles=roles,
                config=config,
                seed=seed,
            )
        moved = before[test].astype(np.float32) - after[test]
        return figures(
            released,
            case.targets,
            raw,
            recipe.clips,
            seed=seed,
            distortion=float(np.mean((moved / 255) ** 2)),
            seconds=seconds,
        )

    key = recipe_key(recipe, row, seed, digest)
    return keep_row(folder, key, ClipFigures, partial(make))


def _fitted(
    recipe: Recipe, row: RecipeRow, case: ClipCase, roles: Roles, seed: int, folder: Path
) -> tuple[Any, float]:
    """The frozen modifier of a row, and the seconds of its fit. A killed fit resumes."""
    started = time.perf_counter()
    _share_phases(folder)
    bundle = fit_bundle(
        case.fit.dataset(),
        roles,
        method=row_method(recipe, row),
        config=row_config(recipe, row),
        seed=seed,
        key=bench_key(seed),
        progress=Silent(),
        journal=Journal(folder / "fit"),
    )
    return bundle.modifier, time.perf_counter() - started


def _share_phases(folder: Path) -> None:
    """Link the checkpoints of other rows of the same seed.

    A fit finds a phase by its fingerprint, so methods that begin alike train it once.
    """
    (folder / "fit").mkdir(parents=True, exist_ok=True)
    for saved in folder.parent.glob("*/fit/*.safetensors"):
        with suppress(FileExistsError):
            os.link(saved, folder / "fit" / saved.name)


def _released(modifier: Any, clips: PixelArray) -> PixelArray:
    """The released clips, in the order of the originals."""
    made = modifier.transform([Clip(clip) for clip in clips])
    return np.stack([clip.frames for clip in made])
