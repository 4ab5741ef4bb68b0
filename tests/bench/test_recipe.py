"""Recipes: what a YAML file may say, and that every one of ours says it rightly."""

from __future__ import annotations

from pathlib import Path

import pytest

from withhold.bench import find_recipe, recipe_names
from withhold.bench.fit_row import row_config, row_method
from withhold.bench.row_cache import row_folder
from withhold.core.errors import UserError
from withhold.methods import method_names, read_config
from withhold.records.roles import Roles

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.yaml"))
WHOLE = """
title: a table
data: stub
measure: [a]
rows:
  - label: original
  - {label: one, suppress: a, config: {epochs: 3}, paper: {a: 12.5}}
"""


@pytest.mark.parametrize("path", RECIPES, ids=lambda p: p.stem)
def test_ours(path: Path) -> None:
    first = path.read_text().splitlines()[0]
    assert first == f"# withhold bench {path.stem}"
    recipe = find_recipe(path.stem)
    assert recipe == find_recipe(str(path))
    assert recipe.name == path.stem
    read_config(recipe.method, recipe.config)
    labels = [row.label for row in recipe.rows]
    assert len(set(labels)) == len(labels)
    assert len({row_folder(Path("out"), label) for label in labels}) == len(labels)
    for row in recipe.rows:
        method, config = row_method(recipe, row), row_config(recipe, row)
        read_config(method, config)
        if method not in method_names("features"):
            assert recipe.kind in ("media", "pixels", "clips")
        assert set(row.paper) <= set(recipe.measure)
        if row.suppress and recipe.kind == "certified":  # measures a row's own roles besides
            Roles.of(row.suppress, row.preserve)
        elif row.suppress:
            assert set(Roles.of(row.suppress, row.preserve).named) <= set(recipe.measure)
        else:
            assert not row.preserve


def test_all_are_listed() -> None:
    assert [name for name, _ in recipe_names()] == [p.stem for p in RECIPES]
    assert all(title for _, title in recipe_names())


def test_parsing(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(WHOLE)
    recipe = find_recipe(str(path))
    assert (recipe.name, recipe.kind, recipe.method, recipe.seed) == ("mine", "table", "mass", 0)
    assert recipe.rows[0].suppress == ""
    assert recipe.rows[1].paper == {"a": 12.5}


def test_settings_of_a_row_go_over_those_of_the_recipe(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        WHOLE
        + "  - {label: two, suppress: a, config: {attribute_model: {batch: 8}}}\n"
        + "  - {label: three, suppress: a, method: noise, config: {sigma: 2}}\n"
        + "config: {epochs: 9, attribute_model: {epochs: 4}}\n"
    )
    recipe = find_recipe(str(path))
    one, two, three = (row_config(recipe, row) for row in recipe.rows[1:])
    assert one == {"epochs": 3, "attribute_model": {"epochs": 4}}
    assert two == {"epochs": 9, "attribute_model": {"epochs": 4, "batch": 8}}
    assert three == {"sigma": 2}  # another method's settings would mean nothing to it


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (WHOLE.replace("measure", "mesure"), "'mesure': Extra inputs are not permitted"),
        (WHOLE.replace("suppress: a", "supress: a"), "'rows.1.supress'"),
        (WHOLE.replace("title: a table", ""), "'title': Field required"),
        (WHOLE + "kind: race\n", "'kind': Input should be"),
        ("title: t\ndata: stub\nmeasure: [a]\n", "mine.yaml: a table needs 'rows'"),
        ("title: t\nrows: [{label: a}]\nmeasure: [a]\n", "a table needs 'data'"),
        ("- 1", "must contain settings as NAME: VALUE lines"),
        ("a: [", "is not YAML"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as error:
        find_recipe(str(path))
    assert told in str(error.value)


def test_unknown_name() -> None:
    with pytest.raises(UserError, match="did you mean 'audiomnist-table3'"):
        find_recipe("audiomnist-tabel3")
