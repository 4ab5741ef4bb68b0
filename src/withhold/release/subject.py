"""What a decision of the release policy is about, for every kind of record."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.core.errors import UserError
from withhold.methods import Channel
from withhold.records.attribute import Attribute, encode, gather
from withhold.release.policy import Subject

FloatArray = npt.NDArray[np.float32]


def subject_of(
    bundle: Bundle,
    schema: pa.Schema,
    made: tuple[str, ...],
    table: pa.Table,
    x: FloatArray | None,
    name: str,
) -> Subject:
    """What the policy decides about: a bundle, and a sample of the records to release.

    made: the columns that the method makes; empty for media.
    """
    code = None
    if isinstance(bundle.modifier, Channel) and x is not None:
        some = table.slice(0, len(x)).combine_chunks()
        batch = some.to_batches()[0] if some.num_rows else None
        with suppress(UserError):  # the release reports the bad row itself
            labels = {} if batch is None else needed_labels(bundle, batch, name)
            code = bundle.modifier.draw(x, labels)
    return Subject(
        name,
        schema,
        made,
        table,
        bundle.roles.suppress,
        preserve=bundle.roles.preserve,
        label_columns=tuple(bundle.label_columns),
        group=bundle.input.get("group"),
        multilabel=bundle.input["multilabel"],
        x=x,
        code=code,
        harmless=bundle.input.get("harmless", {}),
        tells=bundle.tells,
        key=bundle.modifier.key,
    )


def needed_labels(bundle: Bundle, batch: pa.RecordBatch, name: str) -> dict[str, Attribute]:
    """The labels that the modifier needs, from the batch's own columns."""
    found = {}
    for attribute in bundle.modifier.needs:
        columns: Sequence[str] | None = bundle.input["multilabel"].get(attribute)
        if columns and set(columns) <= set(batch.schema.names):
            parts = {c: pa.chunked_array([batch.column(c)]) for c in columns}
            found[attribute] = gather(attribute, parts, name)
        elif attribute in batch.schema.names:
            found[attribute] = encode(attribute, batch.column(attribute), name)
    return found
