"""The columns of a source that the method of a bundle changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.core.errors import UserError
from withhold.methods.features.exact import ExactModifier
from withhold.records.plain import plain_schema
from withhold.records.readers import FeatureLayout
from withhold.release.modify import INDEX, Shape
from withhold.release.policy import Decision
from withhold.release.table_layout import TableLayout

Layout: TypeAlias = FeatureLayout | TableLayout


def layout_of(bundle: Bundle, schema: pa.Schema, features: str, name: str) -> Layout:
    """The features of a source with this schema, in the order of the fit."""
    if bundle.kind == "table":
        assert isinstance(bundle.modifier, ExactModifier)
        return TableLayout.of(bundle.modifier, schema, name)
    layout = FeatureLayout.resolve(schema, features, name=name)
    fitted = tuple(bundle.input["columns"])
    if layout.columns != fitted and set(layout.columns) == set(fitted):
        # The same columns in another order: put them in the order of the fit.
        return replace(layout, columns=fitted, names=fitted)
    return layout


def leaving_schema(
    layout: Layout, schema: pa.Schema, decision: Decision, shape: Shape, name: str
) -> pa.Schema:
    """The columns of the release, in the order of the source. The number of the code is last."""
    keep = [f for f in layout.release_schema(schema) if f.name in decision.leaving]
    if shape != "index":
        return plain_schema(pa.schema(keep))
    keep = [f for f in keep if f.name not in layout.columns]
    if INDEX in [f.name for f in keep]:
        raise UserError(
            f"{name} already has a column '{INDEX}', and --as index would add one; leave it"
            f" out with --drop {INDEX}"
        )
    return plain_schema(pa.schema([*keep, pa.field(INDEX, pa.uint16())]))
