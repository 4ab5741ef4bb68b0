"""The attacks beyond the features of the test part: all rows, all columns, and copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from withhold.audit.all_rows import rows_task
from withhold.audit.attack_plan import Question, Seen
from withhold.audit.beside_values import beside_values
from withhold.audit.columns import Columns, ColumnsTask, worst_column
from withhold.audit.detectable import SmallestLeak
from withhold.audit.feature_views import FeatureViews
from withhold.audit.findings import Column, Copies
from withhold.audit.linked_by import linked_by
from withhold.audit.measure_attribute import floor
from withhold.audit.pairing import PairedRelease
from withhold.audit.released_columns import BesideFeatures
from withhold.audit.setting_groups import Effort
from withhold.audit.split import Split
from withhold.audit.unchanged_records import copies
from withhold.audit.unlabelled_columns import not_covered
from withhold.audit.whole_people import WholePeople, WholePeopleTask
from withhold.audit.whole_release import WholeRelease
from withhold.audit.with_original import WithOriginalTask
from withhold.records.dataset import Dataset


@dataclass(frozen=True)
class WiderLook:
    """Fields for the evidence of each attribute (`of`), the columns, and the copies by part.

    people: by attribute, what attackers trained on whole people say.
    """

    of: dict[str, dict[str, Any]] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    copies: dict[str, Copies] = field(default_factory=dict)
    people: dict[str, WholePeople] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class WiderAttacks:
    """Attacks of suppressed attributes on all rows and columns, to be run with all others.

    `same` compares rows with their originals. `tasks` are (cost in seconds, task) and belong to
    `wanted`: for each question its rows, its smallest leak and its people and, if there is a
    release, its columns and what the release adds to the original.
    """

    wanted: tuple[Question, ...]
    tasks: tuple[tuple[float, Any], ...]
    columns: Columns | None
    beside: tuple[Column, ...]
    same: dict[str, Copies]
    seed: int

    @classmethod
    def of(
        cls,
        asks: Sequence[Question],
        original: Dataset,
        matched: PairedRelease | None,
        split: Split,
        *,
        order_counts: bool,
        effort: Effort,
        whole: WholeRelease | None = None,
    ) -> WiderAttacks:
        """Compare the rows with their originals, and prepare the attacks.

        whole: the labels of all rows, if these records are only some of them.
        """
        quick, seed = effort.quick, effort.seed
        wanted = tuple(q for q in asks if q.role == "suppress")
        shown = original if matched is None else matched.release
        same = {}
        if matched is not None and matched.same_space:
            same = copies(original.x, shown.x, split, seed=seed, columns=_columns(original))
        columns: Columns | None = None
        beside: tuple[Column, ...] = ()
        if matched is not None:
            beside = beside_values(matched.released)
            columns = Columns.of(matched, order_counts=order_counts, quick=quick, seed=seed)
        tasks: list[tuple[float, Any]] = []
        if wanted:
            seen = Seen(shown.x, FeatureViews.of(shown.x[split.train], seed=seed))
            names = shown.layout.names or tuple(f"x{i}" for i in range(shown.dimension))
        linked = None
        if matched is not None and wanted:
            linked = linked_by(matched, same, order_counts=order_counts)
        seen_by_people = _columns_of_people(wanted, matched, seed=seed)
        for q in wanted:
            by_rows = rows_task(q, seen, split, names, quick=quick, seed=seed)
            least = floor(q.attribute, q.given, q.parts)
            small = SmallestLeak.of(q, seen.view("standard"), floor=least, seed=seed)
            people = WholePeopleTask.of(q, seen, seed=seed, beside=seen_by_people)
            tasks += [(by_rows.cost, by_rows), (0.5, small), (people.cost, people)]
            if columns is not None and matched is not None:
                order = None if whole is None else whole.placed(q, seed)
                by_columns = ColumnsTask(columns, q, seed, order)
                both = WithOriginalTask.of(q, matched, linked_by=linked, quick=quick, seed=seed)
                tasks += [(by_columns.cost, by_columns), (both.cost, both)]
        return cls(wanted, tuple(tasks), columns, beside, same, seed)

    def look(self, results: Sequence[Any]) -> WiderLook:
        """The findings, from the results of the tasks."""
        columns = self.columns
        if not self.wanted:
            told = () if columns is None else (*columns.summary({}), *self.beside)
            return WiderLook({}, told, self.same)
        each = 3 if columns is None else 5
        copied = any(one.found for one in self.same.values())
        found: dict[str, dict[str, Any]] = {}
        read = {}
        for i, q in enumerate(self.wanted):
            rows, subgroup = results[each * i]
            found[q.name] = {
                "all_rows": rows,
                "subgroup": subgroup,
                "smallest_leak": results[each * i + 1],
                "copied": copied,
            }
            if columns is not None:
                read[q.name], together = results[each * i + 3]
                found[q.name] |= {
                    "columns": together,
                    "column": worst_column(read[q.name]),
                    "with_original": results[each * i + 4],
                }
        people = {q.name: results[each * i + 2] for i, q in enumerate(self.wanted)}
        if columns is None:
            return WiderLook(found, (), self.same, people)
        doubts = not_covered(columns.encoded, columns.rows, self.wanted, seed=self.seed)
        told = (*columns.summary(read, doubts), *self.beside)
        return WiderLook(found, told, self.same, people)


def _columns_of_people(
    wanted: Sequence[Question], matched: PairedRelease | None, *, seed: int
) -> BesideFeatures | None:
    """The columns of the records that attackers on whole people use; None if there are none."""
    parts = [q.parts for q in wanted if q.parts.units is not None]
    if matched is None or not parts:
        return None
    rows = np.unique(np.concatenate([part for p in parts for part in (p.train, p.val, p.test)]))
    return BesideFeatures.of(matched, rows, seed=seed)


def _columns(dataset: Dataset) -> tuple[slice, ...]:
    """The features of each column of a table; those of a vector count one by one."""
    if dataset.encoder is None:
        return ()
    blocks = dataset.encoder.blocks
    return tuple(blocks[c.name] for c in dataset.encoder.columns if c.kind != "vector")
