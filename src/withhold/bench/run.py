"""Run a recipe: fit every row, attack it with frozen and retrained models, keep what was found."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import withhold
from withhold.actions.audit import audit as evaluate
from withhold.actions.fit import fit_bundle
from withhold.audit.attackers.mlp_attacker import MlpLarge
from withhold.bench.keys import bench_key
from withhold.bench.recipe import Recipe, Row
from withhold.bench.result import RowResult, TableResult
from withhold.bundle.bundle import Bundle
from withhold.core.atomic import write_bytes
from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.datasets.public import public
from withhold.learn.losses.entropy import prediction_entropy
from withhold.learn.nets.attribute import FrozenAttributeNet
from withhold.learn.nets.device import threads, threads_for
from withhold.learn.nets.space import Space
from withhold.learn.training import tensor_digest
from withhold.methods import Journal, read_config
from withhold.methods.features.mass.config import MassConfig
from withhold.methods.features.stages.attribute_model import (
    AttributeModelConfig,
    train_attribute_model,
)
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

FloatArray = npt.NDArray[np.float32]
# The papers' tables have many rows: one retrained network beside the frozen model. The whole
# ladder is for `kind: audits`.
ATTACKERS = (MlpLarge(epochs=30, patience=6),)


# What runs a kind of recipe; imported when it is asked for.
KINDS = {
    "audits": ("audits", "run_audits"),
    "external": ("audits", "run_audits"),
    "certified": ("certified", "run_certified"),
    "tradeoff": ("tradeoff", "run_tradeoff"),
    "power": ("power", "measure_power"),
    "release-leaks": ("release_leaks", "measure_release_leaks"),
    "soundness": ("soundness", "measure_soundness"),
    "elimination": ("elimination", "measure_elimination"),
    "equal-proof": ("equal_proof", "run_equal_proof"),
    "speed": ("speed", "measure_speed"),
    "codebook-speed": ("codebook_speed", "measure_codebook_speed"),
    "audit-speed": ("audit_speed", "measure_audit_speed"),
    "memory": ("memory", "measure_memory"),
    "media": ("media", "run_media"),
    "media-speed": ("media_speed", "measure_media_speed"),
}


def run_recipe(recipe: Recipe, output: Path, *, progress: Progress) -> Any:
    """Run it, or go on where it was interrupted; results go to `output`."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"folder {output} cannot be made: {error.strerror}") from error
    if recipe.kind != "table":
        module, name = KINDS[recipe.kind]
        run = getattr(import_module(f"withhold.bench.{module}"), name)
        alone = ("power", "release-leaks", "soundness", "elimination", "memory")
        needs_recipe = recipe.kind not in alone and not recipe.kind.endswith("speed")
        return run(*([recipe] if needs_recipe else []), output, progress=progress)
    return _run_table(recipe, output, progress)


def _run_table(recipe: Recipe, output: Path, progress: Progress) -> TableResult:
    data = public(recipe.data, progress=progress)
    # Attribute models and encoders are the same for many rows and recipes: one journal for all.
    journal = Journal(output.parent / "journal")
    frozen = _frozen_models(data, recipe, journal, progress)
    results = []
    for row in recipe.rows:
        key = _key(recipe, row, data)
        saved = output / f"row-{key}.json"
        if saved.exists():
            results.append(RowResult(**json.loads(saved.read_text())))
            continue
        progress.say(f"row: {row.label}")
        result = _run_row(recipe, row, data, frozen, journal, progress)
        write_bytes(saved, json.dumps(asdict(result), indent=1).encode())
        results.append(result)
    table = TableResult(recipe, tuple(results))
    write_bytes(output / "results.json", json.dumps(table.to_dict(), indent=1).encode() + b"\n")
    write_bytes(output / "table.md", table.to_markdown().encode())
    return table


def _run_row(
    recipe: Recipe,
    row: Row,
    data: Dataset,
    frozen: dict[str, FrozenModel],
    journal: Journal,
    progress: Progress,
) -> RowResult:
    started = time.monotonic()
    roles = Roles.of(row.suppress or recipe.measure[0], row.preserve)
    release = data
    if row.suppress:
        bundle = fit_bundle(
            data,
            roles,
            method=row.method or recipe.method,
            config=row_config(recipe, row),
            seed=recipe.seed,
            key=bench_key(recipe.seed),
            progress=progress,
            journal=journal,
        )
        release = data.with_features(bundle.modifier.transform(data.x))
    seconds = time.monotonic() - started
    evidence = evaluate(
        data,
        release,
        roles.suppress,
        roles.preserve,
        hidden=[name for name in recipe.measure if name not in roles.named],
        models=frozen,
        attackers=ATTACKERS,
        seed=recipe.seed,
        progress=progress,
    )
    scores = {name: evidence.attributes[name] for name in recipe.measure}
    logits = torch.from_numpy(frozen[roles.suppress[0]].logits(release.part("test").x))
    return RowResult(
        row.label,
        {name: a.ignorant.accuracy for name, a in scores.items() if a.ignorant},
        {name: a.informed.accuracy for name, a in scores.items()},
        evidence.distortion.mean if evidence.distortion else 0.0,
        float(prediction_entropy(logits)) / float(np.log(2)),
        round(seconds, 1),
    )


@dataclass(frozen=True, eq=False)
class FrozenModel:
    """An attribute model of the originals, one that `mass` trains against."""

    network: FrozenAttributeNet
    space: Space

    @torch.inference_mode()
    def logits(self, x: FloatArray) -> FloatArray:
        """What it says of features x: (n, d)."""
        out: FloatArray = self.network(self.space.enter(torch.from_numpy(x)))[1].numpy()
        return out


def _frozen_models(
    data: Dataset, recipe: Recipe, journal: Journal, progress: Progress
) -> dict[str, FrozenModel]:
    """The papers' evaluation: one for each attribute to measure, with the very settings of `mass`,
    so that its own stages are found again in the journal."""
    config = AttributeModelConfig()
    if recipe.method == "mass":
        config = MassConfig.model_validate(read_config("mass", recipe.config)).attribute_model
    train = data.part("train")
    space = Space.of(train.x)
    x = space.enter(torch.from_numpy(train.x))
    digest = tensor_digest(x)
    models = {}
    with threads(threads_for(512 * train.dimension * 256.0)):
        for name in recipe.measure:
            network = train_attribute_model(
                x,
                train.attribute(name),
                config,
                seed=recipe.seed,
                progress=progress,
                journal=journal,
                digest=digest,
            )
            models[name] = FrozenModel(network.frozen(), space)
    return models


def row_method(recipe: Recipe, row: Row) -> str:
    """The method of a row: its own, or the recipe's; without one to suppress, the original."""
    return row.method or (recipe.method if row.suppress else "identity")


def timed_fit(
    recipe: Recipe, row: Row, data: Dataset, roles: Roles, progress: Progress
) -> tuple[Bundle, float]:
    """The fit of a row and its seconds, certificate included; nothing is taken over."""
    started = time.perf_counter()
    bundle = fit_bundle(
        data,
        roles,
        method=row_method(recipe, row),
        config=row_config(recipe, row),
        seed=recipe.seed,
        key=bench_key(recipe.seed),
        progress=progress,
        journal=Journal(),
    )
    return bundle, time.perf_counter() - started


def row_config(recipe: Recipe, row: Row) -> dict[str, Any]:
    """The settings of a row: its own over the recipe's; none of those of another method."""
    if row_method(recipe, row) != recipe.method:
        return row.config
    merged = dict(recipe.config)
    for key, value in row.config.items():
        old = merged.get(key)
        merged[key] = old | value if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _key(recipe: Recipe, row: Row, data: Dataset) -> str:
    text = json.dumps(
        [
            row.model_dump(mode="json", exclude={"paper"}),
            recipe.config,
            recipe.method,
            recipe.seed,
            recipe.measure,
            data.digest(),
            repr(ATTACKERS),
            withhold.__version__,
        ],
        sort_keys=True,
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]
