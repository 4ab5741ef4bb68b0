"""Run a recipe of any kind."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from withhold.bench.recipe import Recipe
from withhold.core.errors import UserError
from withhold.core.progress import Progress

# The module and the function of each kind, imported when needed. Those called `measure_...` need
# no recipe: all they measure is fixed.
KINDS = {
    "table": ("paper_tables", "run_paper_table"),
    "clips": ("clip_releases", "run_clips"),
    "audits": ("audits", "run_audits"),
    "external": ("audits", "run_audits"),
    "certified": ("certified_releases", "run_certified"),
    "exact": ("exact_releases", "run_exact"),
    "table-rivals": ("table_rivals", "run_table_rivals"),
    "tradeoff": ("tradeoff", "run_tradeoff"),
    "power": ("audit_power", "measure_power"),
    "release-leaks": ("release_leaks", "measure_release_leaks"),
    "soundness": ("soundness", "measure_soundness"),
    "elimination": ("elimination_remedies", "measure_elimination"),
    "elimination-exact": ("exact_elimination", "run_elimination_exact"),
    "equal-proof": ("equal_proof", "run_equal_proof"),
    "speed": ("speed", "measure_speed"),
    "codebook-speed": ("codebook_speed", "measure_codebook_speed"),
    "audit-speed": ("audit_speed", "measure_audit_speed"),
    "memory": ("memory", "measure_memory"),
    "release-memory": ("release_memory", "run_release_memory"),
    "media": ("media_releases", "run_media"),
    "pixels": ("pixel_releases", "run_pixels"),
    "pixel-speed": ("pixel_speed", "measure_pixel_speed"),
    "clip-speed": ("clip_speed", "measure_clip_speed"),
    "engine-speed": ("engine_speed", "run_engine_speed"),
    "media-speed": ("media_speed", "measure_media_speed"),
    "audit-engines": ("audit_engines", "run_audit_engines"),
    "server-load": ("server_load", "run_server_load"),
    "onnx-speed": ("onnx_speed", "measure_onnx_speed"),
}


def run_recipe(recipe: Recipe, output: Path, *, progress: Progress) -> Any:
    """Run the recipe, or resume it if it was interrupted; results go to the folder `output`."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"folder {output} cannot be made: {error.strerror}") from error
    module, name = KINDS[recipe.kind]
    run = getattr(import_module(f"withhold.bench.{module}"), name)
    given = [recipe] if name.startswith("run_") else []
    return run(*given, output, progress=progress)
