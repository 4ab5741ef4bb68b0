"""What each column of a mixed table tells of the suppressed attributes, and what all do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from withhold.core.errors import UserError, listing
from withhold.core.progress import Progress
from withhold.records.columns.all_columns import how_well_rows_tell
from withhold.records.columns.measure_columns import MOST, Measured, measure_columns
from withhold.records.columns.tells import Telling
from withhold.records.dataset import Dataset
from withhold.records.misread_columns import list_notes, misread_columns, misread_notes
from withhold.records.spelling import spelling_notes
from withhold.records.splits import SPLIT
from withhold.records.table_features import encode_table
from withhold.records.tables import encode_any
from withhold.records.tabular import describe_columns

ALL = "(all of them together)"
NO_FEATURES = ("free text", "identifier", "other")  # kinds of columns that are not compared


@dataclass(frozen=True)
class ColumnTells:
    """One column, and what a guess of a suppressed attribute from it alone achieves.

    right: share of right guesses on records that the guess was not trained on; guessing: without
    the column; bits: gained per record; None if that was not measured. rule: as in `Measured`, or
    "jointly" if it tells only of several attributes together.
    """

    column: str
    kind: str
    right: float | None
    guessing: float
    bits: float | None
    rule: str
    verdict: str


def what_columns_tell(
    dataset: Dataset, suppress: Sequence[str], progress: Progress
) -> dict[str, tuple[ColumnTells, ...]]:
    """For every suppressed attribute: all columns together, then each alone, most telling first.

    Up to 20,000 records are measured. A column that tells nothing of an attribute alone may still
    tell something of several jointly: then its verdict says so.
    """
    if not suppress:
        return {}
    kinds = _kinds(dataset)
    if len(dataset) > MOST:
        chosen = np.random.default_rng(0).choice(len(dataset), MOST, replace=False)
        dataset = dataset.rows(np.sort(chosen))
    skip = {*suppress, SPLIT, dataset.group, *dataset.exclude}
    table = dataset.table.select([c for c in dataset.table.column_names if c not in skip])
    groups = None
    if dataset.group is not None and dataset.group not in suppress:
        groups = encode_any(dataset.table[dataset.group])
    apart = [n for n in table.column_names if kinds[n] in NO_FEATURES]
    attributes = [dataset.attribute(n) for n in suppress]
    misread = misread_columns(table, table.column_names)
    for note in misread_notes(misread, name=dataset.name):
        progress.say(note)
    for note in list_notes(table, table.column_names, name=dataset.name):
        progress.say(note)
    for attribute in attributes:
        for note in spelling_notes(attribute):
            progress.say(note)
    found: dict[str, tuple[ColumnTells, ...]] = {}
    with progress.stage("what the columns tell", len(attributes) + 1) as bar:
        jointly = measure_columns(table, attributes, groups=groups) if len(attributes) > 1 else {}
        bar.advance()
        for attribute in attributes:
            alone = measure_columns(table, [attribute], groups=groups)
            rows = [
                _row(
                    name, kinds[name], one, attribute.majority, _joint(jointly.get(name), suppress)
                )
                for name, one in alone.items()
            ]
            rows.sort(key=lambda row: (row.rule != "copy", -(row.right or 0), -(row.bits or 0)))
            whole = [_at_least(one, rows) for one in _whole(dataset, attribute.name, suppress)]
            found[attribute.name] = (*(_without(one, apart) for one in whole), *rows)
            bar.advance()
    return found


def _row(
    name: str, kind: str, one: Measured, guessing: float, jointly: Measured | None
) -> ColumnTells:
    verdict, rule = one.reason, one.rule
    if one.harmless and jointly is not None and jointly.rule in ("tells", "together"):
        verdict, rule = jointly.reason, "jointly"
    if rule == "copy":
        return ColumnTells(name, kind, 1.0, guessing, None, rule, verdict)
    return ColumnTells(name, kind, _right(one.told), guessing, _bits(one.told), rule, verdict)


def _joint(measured: Measured | None, suppress: Sequence[str]) -> Measured | None:
    """What a column tells of several attributes jointly, and of none of them alone."""
    told = None if measured is None else measured.told
    return None if told is not None and told.attribute in suppress else measured


def _whole(dataset: Dataset, name: str, suppress: Sequence[str]) -> list[ColumnTells]:
    """The row of all columns together; none if no other column can be compared."""
    try:
        x = encode_table(dataset, suppress).x
    except UserError:  # `_kinds` has refused bad values already
        return []
    attribute = dataset.attribute(name)
    told = how_well_rows_tell(x, attribute)
    verdict = "too few labels to measure"
    if told.tells is not None:
        verdict = "reveal it" if told.tells else "reveal nothing that could be measured"
    rule = "unchecked" if told.tells is None else "tells" if told.tells else "harmless"
    return [ColumnTells(ALL, "", _right(told), attribute.majority, _bits(told), rule, verdict)]


def _at_least(whole: ColumnTells, rows: Sequence[ColumnTells]) -> ColumnTells:
    """All columns together tell no less than the most telling one: some take no part as features.

    Free text and ids have no features, and rare values of a category share one.
    """
    telling = [row for row in rows if row.rule in ("copy", "tells") and row.right is not None]
    best = max(telling, key=lambda row: row.right or 0.0, default=None)
    if best is None or (whole.right is not None and (best.right or 0.0) <= whole.right):
        return whole
    bits = whole.bits if best.bits is None else max(best.bits, whole.bits or 0.0)
    return replace(whole, right=best.right, bits=bits, rule="tells", verdict="reveal it")


def _without(whole: ColumnTells, apart: Sequence[str]) -> ColumnTells:
    """Say which columns take no part, since they have no features."""
    if not apart:
        return whole
    left = listing([f"'{n}'" for n in apart])
    return replace(whole, verdict=f"{whole.verdict} (without free text, ids and the like: {left})")


def _right(told: Telling | None) -> float | None:
    return None if told is None or math.isnan(told.accuracy) else told.accuracy


def _bits(told: Telling | None) -> float | None:
    return None if told is None or math.isnan(told.bits) else max(told.bits, 0.0)


def _kinds(dataset: Dataset) -> dict[str, str]:
    """What each column holds, in a word or two; a table that no release takes is refused."""
    described = describe_columns(dataset.table, name=dataset.name, leave_out=())
    dropped = {name: why.partition(":")[0] for name, why in described.dropped.items()}
    return {c.name: c.kind for c in described.columns} | {
        name: why if why in NO_FEATURES else "other" for name, why in dropped.items()
    }
