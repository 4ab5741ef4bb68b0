"""Recipes: published tables and figures, run on data at hand and printed beside the papers'."""

from withhold.bench.recipe import Recipe, find_recipe, recipe_names
from withhold.bench.run import run_recipe

__all__ = ["Recipe", "find_recipe", "recipe_names", "run_recipe"]
