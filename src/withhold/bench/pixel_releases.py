"""Methods on images, attacked on pixels: `kind: pixels` (seed paper, Figure 1, Tables 1 to 3).

Every row is a method with one setting, fitted once for each seed. A method for features gets the
pixels of each image as its features. Rows whose labels are equal up to the first comma form one
curve. A row of `gap` whose settings are those of a row of `replace` is not fitted again: its filter
is the one of `replace`.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from withhold.actions.fit import fit_bundle
from withhold.audit.attackers.pixel_cnn import PixelCnnDeep, PixelPrediction
from withhold.audit.pool import run_all, work
from withhold.bench.fit_row import bench_key, bundle_claims, row_config, row_method, row_roles
from withhold.bench.pixel_figures import Original, PixelFigures, figures, fixed_model
from withhold.bench.pixel_result import PixelResult, PixelRow, draw_tradeoff
from withhold.bench.pixel_set import PixelArray, PixelSet, folder_of
from withhold.bench.recipe import PixelSettings, Recipe, RecipeRow
from withhold.bench.row_cache import keep_row, recipe_key, row_folder, row_key, write_once
from withhold.bundle.bundle import Bundle
from withhold.core.atomic import write_bytes
from withhold.core.progress import Progress, Silent
from withhold.datasets.media_sets import public_media
from withhold.media.contact_sheet import contact_sheet
from withhold.methods.images.replace.modifier import ReplaceModifier
from withhold.records.attribute import Attribute
from withhold.records.samples import Picture

_EXAMPLES = 8


def run_pixels(recipe: Recipe, output: Path, *, progress: Progress) -> PixelResult:
    """Fit, release and attack every row for every seed, or resume after an interruption."""
    how = recipe.pixels
    file = public_media(
        recipe.data, output / "media", most=recipe.most, settings=recipe.data_settings
    )
    data = PixelSet.of(file, how.side, progress)
    names = [recipe.suppress, *(n for n in recipe.measure if n != recipe.suppress)]
    truths = {name: data.attribute(name) for name in names}
    originals = {}
    cost = PixelCnnDeep(images=how.shown, width=how.width).cost(
        len(data.rows("train")), 3 * how.side**2, 2
    )
    made = _models(data, truths, how, cost, output, progress)
    for seed in how.seeds:
        originals[seed] = Original(
            data,
            truths[recipe.suppress],
            tuple(truths[n] for n in names[1:]),
            made[seed],
            how,
            seed,
        )
    tasks = [
        # Five networks are trained on a release, and the fit takes about as long.
        (10 * cost, (recipe, rows, originals[seed], output))
        for seed in how.seeds
        for rows in _fits(recipe)
    ]
    found: dict[str, dict[int, PixelFigures]] = {row.label: {} for row in recipe.rows}
    with progress.stage("fits and attacks", work(tasks)) as stage:
        for i, results in run_all(_measured, tasks, workers=None, stage=stage):
            seed = tasks[i][1][2].seed
            for label, row in results.items():
                found[label][seed] = row
    rows = tuple(
        PixelRow(row.label, _shown_as(recipe, row), tuple(found[row.label][s] for s in how.seeds))
        for row in recipe.rows
    )
    test = data.rows("test")
    guess = {n: truths[n].rows(test).majority for n in names}
    result = PixelResult(recipe, rows, guess)
    write_bytes(output / result.figure, draw_tradeoff(result).encode())
    write_bytes(output / "examples.png", _examples(recipe, data, output, how.seeds[0]))
    return result.write(output)


def _models(
    data: PixelSet,
    truths: Mapping[str, Attribute],
    how: PixelSettings,
    cost: float,
    output: Path,
    progress: Progress,
) -> dict[int, dict[str, PixelPrediction]]:
    """A fixed model of every attribute for every seed; those that were made before are read."""
    tasks = [
        (cost, (data, truths[name], how, seed, folder_of(output, seed) / f"{name}.npz"))
        for seed in how.seeds
        for name in truths
    ]
    out: dict[int, dict[str, PixelPrediction]] = {seed: {} for seed in how.seeds}
    with progress.stage("models of the originals", work(tasks)) as stage:
        for i, model in run_all(_model, tasks, workers=None, stage=stage):
            _, truth, _, seed, _ = tasks[i][1]
            out[seed][truth.name] = model
    return out


def _model(task: tuple[PixelSet, Attribute, PixelSettings, int, Path]) -> PixelPrediction:
    data, truth, how, seed, saved = task
    key = row_key([data.dataset().digest(), truth.name, *_training(how), seed])

    def make() -> None:
        saved.parent.mkdir(parents=True, exist_ok=True)
        held = io.BytesIO()
        state: dict[str, Any] = fixed_model(data, truth, how, seed=seed).state()
        np.savez(held, **state)
        write_bytes(saved, held.getvalue())

    write_once(saved, key, make)
    with np.load(saved) as arrays:
        return PixelCnnDeep(width=how.width).loaded(
            data.images.shape[1], len(truth.classes), dict(arrays)
        )


def _training(how: PixelSettings) -> list[float]:
    """The settings that decide how an attacker is trained."""
    return [how.shown, how.width, how.batch, how.rate]


def _fits(recipe: Recipe) -> Iterator[tuple[RecipeRow, ...]]:
    """Rows that one fit serves: a row of `replace` and one of `gap` with the same settings."""
    left = list(recipe.rows)
    while left:
        row = left.pop(0)
        shared = [
            other
            for other in left
            if {row_method(recipe, row), row_method(recipe, other)} == {"gap", "replace"}
            and row_config(recipe, row) == row_config(recipe, other)
        ]
        for other in shared:
            left.remove(other)
        yield (row, *shared)


def _measured(
    task: tuple[Recipe, tuple[RecipeRow, ...], Original, Path],
) -> dict[str, PixelFigures]:
    """The figures of some rows by label; figures that were computed before are read."""
    recipe, rows, original, output = task
    folder = folder_of(output, original.seed)
    fitted: list[tuple[Bundle, float]] = []  # the fit that all rows share, once there is one

    def make(row: RecipeRow) -> PixelFigures:
        if row_method(recipe, row) == "identity":
            return figures(original, original.data.images, new=None, bound=None, seconds=0.0)
        if not fitted:
            lead = max(rows, key=lambda r: row_method(recipe, r) == "replace")
            fitted.append(_fit(recipe, lead, original))
        bundle, seconds = fitted[0]
        modifier = bundle.modifier
        if row_method(recipe, row) == "gap" and bundle.method == "replace":
            assert isinstance(modifier, ReplaceModifier)
            modifier = modifier.filter_alone()
        images, new = _released(modifier, original.data)
        row_folder(folder, row.label).mkdir(parents=True, exist_ok=True)
        shown = images[original.data.rows("test")[:_EXAMPLES]]
        write_bytes(row_folder(folder, row.label) / "examples.rgb", shown.tobytes())
        bound = bundle_claims(bundle).get(recipe.suppress, {}).get("bound")
        return figures(original, images, new=new, bound=bound, seconds=seconds)

    facts = [original.seed, original.data.dataset().digest()]
    return {
        row.label: keep_row(
            row_folder(folder, row.label),
            recipe_key(recipe, row, *facts),
            PixelFigures,
            partial(make, row),
        )
        for row in rows
    }


def _fit(recipe: Recipe, row: RecipeRow, original: Original) -> tuple[Bundle, float]:
    method = row_method(recipe, row)
    data = original.data
    started = time.perf_counter()
    bundle = fit_bundle(
        data.flat() if _of_features(method) else data.dataset(),
        row_roles(recipe, row),
        method=method,
        config=row_config(recipe, row),
        seed=original.seed,
        key=bench_key(original.seed),
        progress=Silent(),
    )
    return bundle, time.perf_counter() - started


def _released(modifier: Any, data: PixelSet) -> tuple[PixelArray, Any]:
    """Released images in the order of the originals, and the new class of each if there is one."""
    if _of_features(modifier.method):
        x = modifier.transform(data.flat().x)
        images = (255 * x).round().clip(0, 255).astype(np.uint8).reshape(data.images.shape)
        return images, None
    made = modifier.transform([Picture(image) for image in data.images])
    new = None
    if isinstance(modifier, ReplaceModifier) and modifier.sizes.classes is not None:
        new = np.array([modifier.new_class(image) for image in data.images])
    return np.stack([picture.pixels for picture in made]), new


def _of_features(method: str) -> bool:
    from withhold.methods import method_names

    return method in method_names("features")


def _shown_as(recipe: Recipe, row: RecipeRow) -> str:
    """The method by which the figure chooses colour and mark."""
    method = row_method(recipe, row)
    alone = method == "replace" and not row_config(recipe, row).get("use_filter", True)
    return "generator" if alone else method


def _examples(recipe: Recipe, data: PixelSet, output: Path, seed: int) -> bytes:
    """The same test images, original and released by every row."""
    shown = data.images[data.rows("test")[:_EXAMPLES]]
    rows = {"original": list(shown)}
    for row in recipe.rows:
        saved = row_folder(folder_of(output, seed), row.label) / "examples.rgb"
        if saved.exists():
            pixels = np.frombuffer(saved.read_bytes(), np.uint8).reshape(shown.shape)
            rows[row.label] = list(pixels)
    return contact_sheet(rows)
