"""The description of the data of a fit: how it was read, and what its columns reveal."""

from __future__ import annotations

from typing import Any

import numpy as np

from withhold.core.errors import UserError
from withhold.core.signature import keyed_digest
from withhold.records.columns.measure_columns import MOST, describe_columns
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.records.tables import RECORD


def describe_input(dataset: Dataset, roles: Roles, key: bytes) -> dict[str, Any]:
    """What determines a fit besides its settings: the data, and how it was read.

    Digests of the data are keyed: with a plain hash, anyone could test a guess of the data.
    """
    raw = None if dataset.raw is None else keyed_digest(key, dataset.raw.fingerprint())
    return {
        "name": dataset.name,
        "records": len(dataset),
        "features": dataset.dimension,
        "columns": list(dataset.layout.columns),
        "label_columns": _label_columns(dataset, roles),
        "group": dataset.group,
        "multilabel": {name: list(labels) for name, labels in dataset.multilabel.items()},
        "raw": raw,
        "opened": {} if dataset.media is None else dataset.media.opened(),
        "sha256": keyed_digest(key, dataset.digest()),
        **_describe_columns(dataset, roles, key),
    }


def _label_columns(dataset: Dataset, roles: Roles) -> list[str]:
    """Columns with labels of suppressed attributes. Media may have none."""
    labels = [c for n in roles.suppress for c in dataset.multilabel.get(n, (n,))]
    if dataset.media is not None and not set(labels) & set(dataset.table.column_names):
        return []
    return labels


def _describe_columns(dataset: Dataset, roles: Roles, key: bytes) -> dict[str, Any]:
    """Which columns reveal a suppressed attribute, and which revealed nothing."""
    labels = {c for n in roles.suppress for c in (n, *dataset.multilabel.get(n, ()))}
    if len(dataset) > MOST:
        rows = np.random.default_rng(0).choice(len(dataset), MOST, replace=False)
        dataset = dataset.rows(np.sort(rows))
    names = [c for c in dataset.table.column_names if c not in labels | {RECORD, dataset.group}]
    try:
        suppressed = [dataset.attribute(n) for n in roles.suppress]
        for attribute in suppressed:
            attribute.require_label(dataset.name)
    except UserError:
        # Only a media filter accepts records with missing or unusable labels. Without labels,
        # nothing can be measured.
        if dataset.media is None:
            raise
        return {"checked": [], "tells": {}, "harmless": {}}
    return describe_columns(
        dataset.table.select(names),
        suppressed,
        x=dataset.x if dataset.media is None else None,
        groups=None if dataset.group in roles.suppress else dataset.group_codes,
        people=dataset.group_codes,
        key=key,
    )
