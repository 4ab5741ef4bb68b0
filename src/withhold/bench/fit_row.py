"""The fit of one row of a recipe: its method, settings and key, and who attacks its release."""

from __future__ import annotations

import hashlib
import time
from typing import Any

from withhold.actions.fit import fit_bundle
from withhold.bench.recipe import Recipe, RecipeRow
from withhold.bundle.bundle import Bundle
from withhold.core.progress import Progress
from withhold.methods import Channel, Journal
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

# How the records that the fit never saw are divided among train, val and test of the attackers.
SHARES = (0.5, 0.1, 0.4)


def bench_key(seed: int) -> bytes:
    """The key of a benchmark's fits, the same in every run.

    Anyone can compute it: never release data under it.
    """
    return hashlib.blake2b(f"withhold bench {seed}".encode(), digest_size=32).digest()


def row_roles(recipe: Recipe, row: RecipeRow) -> Roles:
    """The roles of a row; without an own attribute to suppress, that of the recipe."""
    return Roles.of(row.suppress or recipe.suppress or recipe.measure[0], row.preserve)


def row_method(recipe: Recipe, row: RecipeRow) -> str:
    """The method of a row, or the recipe's; `identity` if the row suppresses nothing."""
    return row.method or (recipe.method if row.suppress else "identity")


def row_config(recipe: Recipe, row: RecipeRow) -> dict[str, Any]:
    """The recipe's settings, overridden by the row's; settings of another method are left out."""
    if row_method(recipe, row) != recipe.method:
        return row.config
    merged = dict(recipe.config)
    for key, value in row.config.items():
        old = merged.get(key)
        merged[key] = old | value if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def fit_row(
    recipe: Recipe,
    row: RecipeRow,
    data: Dataset,
    roles: Roles,
    progress: Progress,
    *,
    journal: Journal | None = None,
    draw: int = 0,
) -> tuple[Bundle, float]:
    """The fit of a row and its seconds, certificate included.

    Without a journal every stage is computed anew. Each `draw` has its own seed and key.
    """
    started = time.perf_counter()
    bundle = fit_bundle(
        data,
        roles,
        method=row_method(recipe, row),
        config=row_config(recipe, row),
        seed=recipe.seed + draw,
        key=bench_key(recipe.seed + draw),
        progress=progress,
        journal=journal or Journal(),
    )
    return bundle, time.perf_counter() - started


def unnamed(recipe: Recipe, roles: Roles) -> list[str]:
    """The measured attributes that the method is not told about."""
    return [name for name in recipe.measure if name not in roles.named]


def labelled_release(bundle: Bundle, data: Dataset) -> Dataset:
    """A release with all its labels and in the order of the data, to be read by this bench only."""
    return bundle.release(data, keep=data.table.column_names, keep_labels=True, same_order=True)


def features_alone(release: Dataset, *, keep: tuple[str, ...] = ()) -> Dataset:
    """A labelled release without its labels."""
    return release.without([c for c in release.table.column_names if c not in keep])


def held_out(data: Dataset, release: Dataset, roles: Roles) -> tuple[Dataset, Dataset]:
    """The test part and its release, divided anew into train, val and test.

    A release may be balanced on the records it was fitted on and not on others. Attackers that
    learn from records which the fit never saw can then read more.
    """
    split = data.part("test").with_split(SHARES, stratify=roles.suppress[:1], grouped=False)
    return split, release.part("test").with_column("split", split.table["split"])


def code_count(bundle: Bundle) -> int | None:
    """The number of codes of a release of codes; None for any other release."""
    return len(bundle.modifier.codes) if isinstance(bundle.modifier, Channel) else None


def bundle_claims(bundle: Bundle) -> dict[str, Any]:
    """What the bundle's certificate says, by attribute; empty without a certificate."""
    claims: dict[str, Any] = (bundle.certificate or {}).get("attributes", {})
    return claims
