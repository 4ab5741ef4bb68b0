"""Apply a modifier to all records of a dataset in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.core.errors import RecordError, UserError
from withhold.methods import Channel
from withhold.methods.features.exact import ExactModifier
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.readers import FeatureLayout
from withhold.records.table_features import with_encoder
from withhold.release.certificate import Certifier
from withhold.release.keyed_order import occurrences
from withhold.release.modify import Modified, modified

_PIECE = 4096  # rows whose plan is in memory at once


def encoded(bundle: Bundle, dataset: Dataset) -> Dataset:
    """A table with the features of its fit."""
    modifier = bundle.modifier
    if not (dataset.tabular and isinstance(modifier, ExactModifier)):
        return dataset
    if modifier.rows is None:
        raise UserError(f"this bundle was fitted on features, and {dataset.name} is a table")
    return with_encoder(dataset, modifier.rows.encoder)


def modify_dataset(
    bundle: Bundle,
    dataset: Dataset,
    labels: dict[str, Attribute],
    digests: npt.NDArray[np.uint64],
    certifier: Certifier,
    multilabel: Mapping[str, Sequence[str]],
    *,
    leaves: npt.NDArray[np.bool_],
) -> Modified:
    """What is made of all records. Where rows draw by themselves, piece by piece: the plan of all
    records at once may not fit in memory. leaves: (n,), which records the certificate is about."""
    by_row = isinstance(bundle.modifier, Channel) and bundle.modifier.draws_by_row
    nonces = np.stack([digests, occurrences(digests)], axis=1) if by_row else None
    step = _PIECE if by_row else max(len(dataset), 1)
    pieces = []
    for start in range(0, len(dataset), step):
        at = np.arange(start, min(start + step, len(dataset)))
        try:
            made = modified(
                bundle,
                dataset.x[at] if by_row else dataset.x,
                {n: a.rows(at) for n, a in labels.items()} if by_row else labels,
                shape="code",
                nonces=None if nonces is None else nonces[at],
                name=dataset.name,
                done=start,
            )
        except RecordError as error:
            raise error.after(start) from None
        certifier.add(
            made, dataset.table.slice(start, step), multilabel, dataset.name, leaves=leaves[at]
        )
        pieces.append(replace(made, plan=None))
    return pieces[0] if len(pieces) == 1 else _joined(pieces)


def _joined(pieces: Sequence[Modified]) -> Modified:
    rows = [p.rows for p in pieces if p.rows is not None]
    return Modified(
        np.concatenate([p.x for p in pieces]),
        np.concatenate([p.codes for p in pieces if p.codes is not None]),
        pa.concat_tables(rows) if rows else None,
    )


def with_made_rows(dataset: Dataset, rows: pa.Table) -> Dataset:
    """The table with the columns that were made in place of its own. It has no features."""
    table, schema = dataset.table, dataset.schema
    for name in rows.column_names:
        place = table.schema.get_field_index(name)
        table = table.set_column(place, rows.schema.field(name), rows[name])
        schema = schema.set(schema.get_field_index(name), rows.schema.field(name))
    none = FeatureLayout((), 0, (), False, dataset.name)
    return replace(dataset, table=table, schema=schema, layout=none, encoder=None, _encoded={})
