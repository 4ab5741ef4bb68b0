"""The fitter of `exact`: codes for these records, balanced exactly over their classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch

from withhold.core.errors import UserError
from withhold.core.keyed import secret_seed
from withhold.core.progress import Progress
from withhold.learn.journal import Journal
from withhold.learn.training import tensor_digest
from withhold.methods.channel import IntArray
from withhold.methods.features.codebook.assemble import people_behind
from withhold.methods.features.codebook.cells import Classes, cells_of, joint_classes
from withhold.methods.features.codebook.learner import FEWEST, Task
from withhold.methods.features.codebook.robust import robust_means
from withhold.methods.features.exact.all_records import SAMPLE, AllRecords, sample_rows
from withhold.methods.features.exact.candidates import ExactCandidate
from withhold.methods.features.exact.choice import Choice
from withhold.methods.features.exact.code_numbers import code_numbers
from withhold.methods.features.exact.config import ExactConfig
from withhold.methods.features.exact.labelled_cells import complete, joint_names
from withhold.methods.features.exact.linked_rows import linked_notes
from withhold.methods.features.exact.modifier import ExactModifier, ExactPlan
from withhold.methods.features.exact.people import people_in
from withhold.methods.features.exact.person_units import UnitRows
from withhold.methods.features.exact.preserved_values import refuse_rare_values, with_every_value
from withhold.methods.features.exact.small_classes import refuse_merged, refuse_small
from withhold.methods.features.exact.streamed_means import streamed_means
from withhold.methods.features.exact.table_rows import TableRows
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.records.streamed import StreamedDataset
from withhold.records.tabular import RowMaker, TableColumns

_TRIES = 4  # times that codes with too few people are left out


@method
class ExactMethod:
    """The fitter."""

    name = "exact"
    config_type = ExactConfig
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    modifier_type = ExactModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: ExactConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> ExactModifier:
        """Learn codes on all records, and balance the classes of all of them."""
        cases = _Cases(dataset, roles, config, progress, key=journal.key)
        # The codes leave with the release, so they are learned with a seed that nobody knows.
        task = cases.task(config, secret_seed(journal.key, seed), progress, journal)
        choice = Choice(
            task, config, dataset.encoder, cases.cell_of_task, torch.from_numpy(cases.value_of_cell)
        )
        chosen = choice.made(cases.numbers)
        made, drawn = _enough_people(chosen, cases, task, config, journal.key, progress)
        return _placed(made, cases, drawn, config, progress)


class _Cases:
    """The classes, values and cells of what draws: the records of a dataset, or units of people."""

    def __init__(
        self,
        dataset: Dataset,
        roles: Roles,
        config: ExactConfig,
        progress: Progress,
        *,
        key: bytes,
    ) -> None:
        self.dataset, self.roles = dataset, roles
        hidden = [complete(dataset.attribute(n)) for n in roles.suppress]
        self.classes: Classes = joint_classes(hidden, config.fewest)
        if self.classes.merged == 1:  # alone, a small class keeps its name
            self.classes = joint_classes(hidden)
        missing = {n: dataset.attribute(n).missing for n in roles.suppress}
        for name, count in missing.items():
            if count:
                progress.say(
                    f"{count:,} records have no label of '{name}': they are a class of their own"
                )
        refuse_merged(self.classes, len(dataset), hidden, smallest=config.fewest)
        if config.smallest is None:
            refuse_small([dataset.attribute(n) for n in roles.suppress], fewest=config.fewest)
        if self.classes.merged:
            progress.say(
                f"warning: {self.classes.merged:,} joint classes of {', '.join(roles.suppress)}"
                f" with fewer than {config.fewest} records are merged: their"
                f" {self.classes.in_merged:,} records are hidden among the others, but not from"
                " each other (setting smallest)"
            )
        self.people = people_in(dataset, roles, config.least, progress)
        by_person = config.per == "person"
        for note in linked_notes(dataset, roles, self.people, by_person=by_person):
            progress.say(note)
        self.values, self.u = joint_names(
            [dataset.attribute(n) for n in roles.preserve], len(dataset)
        )
        refuse_rare_values(
            self.values,
            self.u,
            self.people,
            least=config.least,
            attributes=roles.preserve,
        )
        self.s, self.x = self.classes.codes, dataset.x
        drawing, rows = self.classes, np.zeros(len(dataset), np.int64)
        units = UnitRows.of(dataset, roles, self.s, self.u) if by_person else None
        if units is not None:
            self.s, self.u, self.x, rows = units.s, units.u, units.x, units.rows
            drawing = replace(self.classes, codes=self.s)
            for note in units.notes(config.each):
                progress.say(note)
        # The number of rows of a unit can be seen, so units are balanced for each number.
        sizes = int(rows.max(initial=0)) + 1
        found, cell = np.unique(
            (self.s * len(self.values) + self.u) * sizes + rows, return_inverse=True
        )
        pairs, self.cell = found // sizes, cell.reshape(-1)
        self.cells = np.full((len(self.classes.names), len(self.values)), -1, np.int64)
        self.cells.reshape(-1)[pairs] = np.arange(len(pairs))
        self.value_of_cell = pairs % len(self.values)
        self.class_of_cell = pairs // len(self.values)
        self.units = None if units is None else units.named(key, self.cell)
        quoted = ", ".join(f"'{n}'" for n in roles.suppress)
        self.numbers = code_numbers(
            drawing, self.u, config, quoted, progress, of="people" if by_person else "records"
        )
        self.everything: AllRecords | None = None  # where the features are not in memory
        if isinstance(dataset, StreamedDataset):
            self.everything = AllRecords(dataset, self.cell, self.class_of_cell)
        self.learned: IntArray | None = None  # rows of the records in the task; None: all

    @property
    def cell_of_task(self) -> torch.Tensor:
        """The cells of the records in the task."""
        return torch.from_numpy(self.cell if self.learned is None else self.cell[self.learned])

    def task(self, config: ExactConfig, seed: int, progress: Progress, journal: Journal) -> Task:
        """The same for the solvers of `codebook`, which pool cells of few records.

        Where the features are not in memory, the codes are learned from a sample of the records.
        """
        s, u, x = self.s, self.u, self.x
        whole = ""
        if self.everything is not None:
            rows = sample_rows(self.cell, max(SAMPLE // self.dataset.dimension, 1000), seed)
            progress.say(
                f"{self.dataset.name} is large: codes are learned from {len(rows):,} of its"
                f" {len(self.dataset):,} records, and balanced over all of them"
            )
            with progress.stage(f"reading {len(rows):,} records", None):
                x = self.dataset.rows(rows).x
                whole = self.dataset.digest()
            s, u, self.learned = s[rows], u[rows], rows
        pooled = cells_of(s, u, FEWEST)
        tensor = torch.from_numpy(x if x.flags.writeable else np.array(x))
        digest = tensor_digest(tensor) + tensor_digest(torch.from_numpy(np.stack([s, u]))) + whole
        codes = int(self.numbers.sum())
        own = [torch.from_numpy(v) for v in (s, u, pooled.cell, pooled.preserved)]
        return Task(
            tensor, own[0], own[1], own[2], own[3], len(self.classes.names), len(self.values),
            config.of_codebook(codes), codes, seed, progress, journal, digest, "exact",
        )  # fmt: skip


def _enough_people(
    scored: ExactCandidate,
    cases: _Cases,
    task: Task,
    config: ExactConfig,
    key: bytes,
    progress: Progress,
) -> tuple[ExactModifier, IntArray]:
    """The balanced plan of some scores, without the codes that fewer than `least` people get."""
    data = cases.dataset
    kept = scored.common(torch.from_numpy(cases.u), config.least)
    potentials: torch.Tensor | None = None
    for attempt in range(_TRIES + 1):
        balance = scored.balanced(
            kept,
            task,
            cases.cell_of_task,
            torch.from_numpy(cases.value_of_cell),
            before=potentials,
            everything=cases.everything,
        )
        potentials = torch.zeros(len(balance.potentials), len(kept))
        potentials[:, kept] = balance.potentials
        reader = scored.reader.keep(kept)
        blank = np.zeros((len(reader), data.dimension), np.float32)
        plan = ExactPlan(
            reader,
            blank,
            balance.potentials.clamp_min(-1e4).numpy(),
            balance.keep.float().numpy(),
            balance.rest.float().numpy(),
            cases.cells,
        )
        made = ExactModifier(
            plan,
            key,
            suppress=cases.roles.suppress,
            preserve=cases.roles.preserve,
            classes=cases.classes.names,
            values=cases.values,
            units=cases.units,
        )
        labels = {n: data.attribute(n) for n in made.needs}
        if cases.everything is not None:
            drawn = cases.everything.draw(made, labels, progress)
        else:
            with progress.stage(f"drawing {len(reader):,} codes", 1) as bar:
                drawn = made.draw(data.x, labels)
                bar.advance()
        behind = people_behind(drawn, cases.people, len(reader))
        enough = behind >= config.least
        if enough.all():
            return made, drawn
        # Fewer and fewer codes: at the last attempts, codes near the limit go as well.
        enough &= behind >= config.least * (1 + attempt / 2)
        places = kept.nonzero()[:, 0]
        kept[places[~torch.from_numpy(enough)]] = False
        kept = with_every_value(kept, scored.log_shares)
        if int(kept.sum()) < 2:
            break
    raise UserError(
        f"fewer than two codes have {config.least} people behind them (equal rows count as one"
        " person); give more records, or lower least"
    )


def _placed(
    made: ExactModifier, cases: _Cases, drawn: IntArray, config: ExactConfig, progress: Progress
) -> ExactModifier:
    """The modifier with its code vectors and, for a table, the values of each code.

    drawn: not the draws that leave. A release draws by other nonces, so the rows behind a code
    vector, or behind the values of a code, say nothing about which rows leave with that code. With
    the same draws, a column that tells the class would show in each row which class drew its code
    more often, and one row would reveal more than `plan.one`.
    """
    dataset, people = cases.dataset, cases.people
    plan, number = made.plan, len(made.codes)
    if isinstance(dataset, StreamedDataset):
        with progress.stage("code vectors", 2) as bar:
            codes = streamed_means(
                dataset, drawn, people, codes=number, least=config.least, bar=bar
            )
    else:
        codes = robust_means(dataset.x, drawn, people, codes=number, least=config.least)
    rows = None
    if dataset.encoder is not None:
        columns = TableColumns(dataset.encoder.columns, {})
        with progress.stage("values of the codes", 1) as bar:
            maker = RowMaker.of(
                dataset.table,
                columns,
                drawn,
                number=number,
                people=people,
                least=config.least,
                contrast=config.contrast,
                vectors=dataset.encoder.vectors_of(codes),
            )
            bar.advance()
        rows = TableRows(dataset.encoder, maker)
    placed = ExactPlan(plan.reader, codes, plan.potentials, plan.keep, plan.rest, plan.cells)
    return ExactModifier(
        placed,
        made.key,
        suppress=made.suppress,
        preserve=made.preserve,
        classes=made.classes,
        values=made.values,
        rows=rows,
        units=made.units,
    )
