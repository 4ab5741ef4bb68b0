"""One fit, from data to bundle: what the command line and the estimator both do."""

from __future__ import annotations

from dataclasses import replace
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from withhold.bundle.bundle import Bundle, describe
from withhold.bundle.fit_membership import FitMembership
from withhold.certificate import certify, headline
from withhold.core.errors import UserError
from withhold.core.key_file import as_key
from withhold.core.progress import Progress, Silent
from withhold.methods import Channel, Journal, Modifier, get_method, read_config
from withhold.records.dataset import Dataset
from withhold.records.feasibility import feasibility
from withhold.records.roles import Roles


def fit_bundle(
    dataset: Dataset,
    roles: Roles,
    *,
    method: str = "codebook",
    config: dict[str, Any] | BaseModel | None = None,
    seed: int = 0,
    key: bytes | str | Path | None = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> Bundle:
    """Check roles and settings, refuse or warn of what cannot be had, fit on the training part.

    `key` is the secret key: 32 bytes, or the path of a file with them. By default it is random.
    """
    progress, journal = progress or Silent(), journal or Journal()
    given = as_key(key)
    settings, seed = read_config(method, config), _checked_seed(seed)
    roles.check(dataset)
    split = dataset.with_drawn_split(roles.suppress)
    train = split.part("train")
    if not len(train):
        raise UserError(
            f"column 'split' of {dataset.name} has no train records, so nothing can be learned"
        )
    for name in roles.named:
        train.attribute(name).require_label(f"the training part of {dataset.name}")
    had = feasibility(dataset, roles)
    had.require()
    for warning in had.warnings:
        progress.say(f"warning: {warning}")
    journal.use_key(given)
    modifier = get_method(method).fit(split, roles, settings, progress, seed=seed, journal=journal)
    _check_finite(modifier, method)
    bundle = describe(modifier, dataset, roles, settings, seed=seed, history=journal.history)
    if not isinstance(modifier, Channel):
        return bundle
    membership = FitMembership.of(split.part("train", "val"), modifier.key)
    return _with_certificate(replace(bundle, membership=membership), dataset, progress)


def _with_certificate(bundle: Bundle, dataset: Dataset, progress: Progress) -> Bundle:
    """The bundle, certified on the test part where that can be done; else it is said how."""
    try:
        certificate = certify(bundle, dataset, progress=progress)
    except UserError as error:
        progress.say(f"no certificate: {error}")
        return bundle
    progress.say(headline(certificate))
    return replace(bundle, certificate=certificate.to_dict())


def _check_finite(modifier: Modifier, method: str) -> None:
    """Refuse a training that diverged: its release would be NaN from end to end."""
    for array in modifier.state().values():
        if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
            raise UserError(
                f"the training of '{method}' diverged (its weights are NaN or infinite);"
                " lower learning_rate, or weights that are very large"
            )


def _checked_seed(seed: Any) -> int:
    """A plain integer, that JSON can hold and every generator takes."""
    try:
        number = index(seed)
    except TypeError:
        number = -1
    if number < 0:
        raise UserError(f"seed must be a whole number, 0 or more, not {seed!r}")
    return number
