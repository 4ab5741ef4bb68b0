"""Rows that were computed before: each has a folder with its result and the key of its settings."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

import withhold
from withhold.audit.attack_plan import FULL
from withhold.bench.recipe import Recipe, RecipeRow
from withhold.core.atomic import write_bytes

Row = TypeVar("Row")


def row_folder(output: Path, label: str) -> Path:
    """The folder of a row, named after its label."""
    return output / re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")


def row_key(facts: Any) -> str:
    """A digest of everything that decides a row."""
    text = json.dumps([facts, FULL, withhold.__version__], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def recipe_key(recipe: Recipe, row: RecipeRow, *facts: Any) -> str:
    """The key of a recipe's row, without what changes no figure. `facts` include its data."""
    apart = dict.fromkeys(("rows", "title", "name", "paper_title", "extractors", "most"), True)
    if not recipe.tags:
        apart["tags"] = True
    clips: Any = {"seeds"} if recipe.kind == "clips" else True
    shared = recipe.model_dump(mode="json", exclude={**apart, "pixels": {"seeds"}, "clips": clips})
    plain = {"paper", "paper_note", *(() if row.rounded else ("rounded",))}
    own = row.model_dump(mode="json", exclude=plain)
    return row_key([shared, own, *facts])


def write_once(file: Path, key: str, make: Callable[[], Any]) -> None:
    """Call `make`, which writes `file`, unless it was written under the same key before."""
    written = file.with_suffix(".key")
    if not (file.exists() and written.exists() and written.read_text() == key):
        make()
        write_bytes(written, key.encode())


def keep_row(folder: Path, key: str, kind: type[Row], make: Callable[[], Row]) -> Row:
    """The row, a dataclass, found under the same key before; otherwise `make` computes it now."""
    saved, rows = folder / "row.json", TypeAdapter(kind)

    def save() -> None:
        found = make()
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(saved, json.dumps(rows.dump_python(found), indent=1).encode() + b"\n")

    write_once(saved, key, save)
    return rows.validate_python(json.loads(saved.read_text()))


def cached_rows(
    recipe: Recipe, output: Path, facts: Any, kind: type[Row], make: Callable[[RecipeRow], Row]
) -> tuple[Row, ...]:
    """Every row of a recipe, computed only if its settings or `facts` have changed."""
    return tuple(
        keep_row(
            row_folder(output, row.label),
            recipe_key(recipe, row, facts),
            kind,
            partial(make, row),
        )
        for row in recipe.rows
    )
