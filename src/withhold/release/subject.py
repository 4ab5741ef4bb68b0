"""What a decision of the release policy is about, for every kind of record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.core.errors import UserError
from withhold.methods import Channel
from withhold.records.attribute import Attribute
from withhold.release.policy import Subject
from withhold.release.sample_labels import label_of

FloatArray = npt.NDArray[np.float32]


def subject_of(
    bundle: Bundle,
    schema: pa.Schema,
    made: tuple[str, ...],
    table: pa.Table,
    x: FloatArray | None,
    name: str,
    *,
    multilabel: Mapping[str, Sequence[str]] | None = None,
    group: str | None = None,
) -> Subject:
    """What the policy decides about: a bundle, and a sample of the records to release.

    made: the columns that the method makes; empty for media. multilabel, group: those of the
    records, if the bundle has none.
    """
    code = None
    if isinstance(bundle.modifier, Channel) and x is not None:
        with suppress(UserError):  # the release reports the bad row itself
            code = bundle.modifier.draw(x, needed_labels(bundle, table.slice(0, len(x)), name))
    return Subject(
        name,
        schema,
        made,
        table,
        bundle.roles.suppress,
        preserve=bundle.roles.preserve,
        label_columns=tuple(bundle.label_columns),
        group=bundle.input.get("group") or group,
        multilabel={**(multilabel or {}), **bundle.input["multilabel"]},
        x=x,
        code=code,
        harmless=bundle.input.get("harmless", {}),
        tells=bundle.tells,
        key=bundle.modifier.key,
        only_made=bundle.kind == "table",
    )


def needed_labels(bundle: Bundle, table: pa.Table, name: str) -> dict[str, Attribute]:
    """The labels that the modifier needs, from the table's own columns."""
    several = bundle.input["multilabel"]
    found = {n: label_of(n, table, several, name) for n in bundle.modifier.needs}
    return {n: attribute for n, attribute in found.items() if attribute is not None}
