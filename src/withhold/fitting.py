"""One fit, from data to bundle: what the command line and the estimator both do."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from withhold.bundle import Bundle, describe
from withhold.dataset import Dataset
from withhold.feasibility import feasibility
from withhold.methods import Journal, get_method, read_config
from withhold.progress import Progress, Silent
from withhold.roles import Roles


def fit_bundle(
    dataset: Dataset,
    roles: Roles,
    *,
    method: str = "mass",
    config: dict[str, Any] | BaseModel | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> Bundle:
    """Check roles and settings, warn of what cannot be had, fit on the training part."""
    progress, journal = progress or Silent(), journal or Journal()
    settings = read_config(method, config)
    roles.check(dataset)
    split = dataset.with_drawn_split(roles.suppress, seed=seed)
    train = split.part("train")
    for name in roles.named:
        train.attribute(name).require_label(f"the training part of {dataset.name}")
    for warning in feasibility(dataset, roles).warnings:
        progress.say(f"warning: {warning}")
    modifier = get_method(method).fit(split, roles, settings, progress, seed=seed, journal=journal)
    return describe(modifier, dataset, roles, settings, seed=seed, history=journal.history)
