"""The attacks beyond the features of the test part: all rows, all columns, and copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import call
from typing import Any

import numpy as np

from withhold.audit.all_rows import rows_task
from withhold.audit.attack_plan import Question, Seen
from withhold.audit.beside_values import beside_values
from withhold.audit.columns import Columns, ColumnsTask, worst_column
from withhold.audit.copies import copies
from withhold.audit.detectable import smallest_leak
from withhold.audit.feature_views import FeatureViews
from withhold.audit.findings import Column, Copies
from withhold.audit.measure_attribute import floor
from withhold.audit.pairing import PairedRelease
from withhold.audit.pool import run_all, work
from withhold.audit.setting_groups import Effort
from withhold.audit.split import Split
from withhold.audit.unlabelled_columns import not_covered
from withhold.core.progress import Progress
from withhold.records.dataset import Dataset


@dataclass(frozen=True)
class WiderLook:
    """Fields for the evidence of each attribute (`of`), the columns, and the copies by part."""

    of: dict[str, dict[str, Any]] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    copies: dict[str, Copies] = field(default_factory=dict)


def look_wider(
    asks: Sequence[Question],
    original: Dataset,
    matched: PairedRelease | None,
    split: Split,
    *,
    order_counts: bool,
    effort: Effort,
    progress: Progress,
) -> WiderLook:
    """Attack suppressed attributes on all rows and columns, and compare rows with originals."""
    quick, seed = effort.quick, effort.seed
    wanted = [q for q in asks if q.role == "suppress"]
    shown = original if matched is None else matched.release
    same = {}
    if matched is not None and matched.same_space:
        same = copies(original.x, shown.x, split, seed=seed)
    columns: Columns | None = None
    beside: tuple[Column, ...] = ()
    if matched is not None:
        beside = beside_values(matched.released)
        columns = Columns.of(matched, order_counts=order_counts, quick=quick, seed=seed)
    if not wanted:
        return WiderLook({}, () if columns is None else (*columns.summary({}), *beside), same)
    seen = Seen(shown.x, FeatureViews.of(shown.x[split.train], seed=seed))
    names = shown.layout.names or tuple(f"x{i}" for i in range(shown.dimension))
    tasks: list[tuple[float, Any]] = []
    for q in wanted:
        by_rows = rows_task(q, seen, split, names, quick=quick, seed=seed)
        small = partial(_smallest, q, by_rows.standard, seed)
        tasks += [(by_rows.cost, by_rows), (0.5, small)]
        if columns is not None:
            by_columns = ColumnsTask(columns, q, seed)
            tasks.append((by_columns.cost, by_columns))
    each = 2 if columns is None else 3
    with progress.stage("all rows and columns", work(tasks)) as stage:
        results = dict(run_all(call, tasks, workers=effort.workers, stage=stage))
    copied = any(one.found for one in same.values())
    found: dict[str, dict[str, Any]] = {}
    read = {}
    for i, q in enumerate(wanted):
        rows, subgroup = results[each * i]
        found[q.name] = {
            "all_rows": rows,
            "subgroup": subgroup,
            "smallest_leak": results[each * i + 1],
            "copied": copied,
        }
        if columns is not None:
            read[q.name], together = results[each * i + 2]
            found[q.name] |= {"columns": together, "column": worst_column(read[q.name])}
    if columns is None:
        return WiderLook(found, (), same)
    doubts = not_covered(columns.encoded, columns.rows, wanted, seed=seed)
    return WiderLook(found, (*columns.summary(read, doubts), *beside), same)


def _smallest(q: Question, x: Any, seed: int) -> float | None:
    return smallest_leak(q, np.asarray(x), floor=floor(q.attribute, q.given, q.parts), seed=seed)
