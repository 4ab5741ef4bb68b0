"""The fitter of `exact`: codes for these records, balanced exactly over their classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.learn.journal import Journal
from withhold.learn.training import tensor_digest
from withhold.methods.channel import IntArray
from withhold.methods.features.codebook.assemble import people_behind
from withhold.methods.features.codebook.cells import Classes, cells_of, joint_classes
from withhold.methods.features.codebook.learner import FEWEST, Task
from withhold.methods.features.codebook.robust import robust_means
from withhold.methods.features.exact.candidates import Candidate, candidate
from withhold.methods.features.exact.code_numbers import code_numbers
from withhold.methods.features.exact.config import ExactConfig
from withhold.methods.features.exact.labelled_cells import complete, joint_names
from withhold.methods.features.exact.merged_classes import refuse_merged
from withhold.methods.features.exact.modifier import ExactModifier, ExactPlan
from withhold.methods.features.exact.people import people_in
from withhold.methods.features.exact.preserved_values import refuse_rare_values, with_every_value
from withhold.methods.features.exact.table_rows import TableRows
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
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
        cases = _Cases(dataset, roles, config, progress)
        task = cases.task(config, seed, progress, journal)
        chosen = candidate(task, cases.numbers, config, encoder=dataset.encoder)
        made, drawn = _enough_people(chosen, cases, task, config, journal.key, progress)
        return _placed(made, dataset, drawn, cases.people, config, progress)


class _Cases:
    """The classes, values and cells of a dataset."""

    def __init__(
        self, dataset: Dataset, roles: Roles, config: ExactConfig, progress: Progress
    ) -> None:
        self.dataset, self.roles = dataset, roles
        hidden = [complete(dataset.attribute(n)) for n in roles.suppress]
        self.classes: Classes = joint_classes(hidden, config.smallest)
        missing = {n: dataset.attribute(n).missing for n in roles.suppress}
        for name, count in missing.items():
            if count:
                progress.say(
                    f"{count:,} records have no label of '{name}': they are a class of their own"
                )
        if self.classes.merged:
            refuse_merged(self.classes, len(dataset), hidden, smallest=config.smallest)
            progress.say(
                f"warning: {self.classes.merged:,} joint classes of {', '.join(roles.suppress)}"
                f" with fewer than {config.smallest} records are merged: their"
                f" {self.classes.in_merged:,} records are hidden among the others, but not from"
                " each other (setting smallest)"
            )
        self.people = people_in(dataset, roles, config.least, progress)
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
        self.s = self.classes.codes
        pairs, cell = np.unique(self.s * len(self.values) + self.u, return_inverse=True)
        self.cell = cell.reshape(-1)
        self.cells = np.full((len(self.classes.names), len(self.values)), -1, np.int64)
        self.cells.reshape(-1)[pairs] = np.arange(len(pairs))
        self.value_of_cell = pairs % len(self.values)
        self.class_of_cell = pairs // len(self.values)
        quoted = ", ".join(f"'{n}'" for n in roles.suppress)
        self.numbers = code_numbers(self.classes, self.u, config, quoted, progress)

    def task(self, config: ExactConfig, seed: int, progress: Progress, journal: Journal) -> Task:
        """The same for the solvers of `codebook`, which pool cells of few records."""
        pooled = cells_of(self.s, self.u, FEWEST)
        x = self.dataset.x
        tensor = torch.from_numpy(x if x.flags.writeable else np.array(x))
        digest = tensor_digest(tensor) + tensor_digest(torch.from_numpy(np.stack([self.s, self.u])))
        codes = int(self.numbers.sum())
        s, u, cell, value = map(torch.from_numpy, (self.s, self.u, pooled.cell, pooled.preserved))
        return Task(
            tensor, s, u, cell, value, len(self.classes.names), len(self.values),
            config.of_codebook(codes), codes, seed, progress, journal, digest, "exact",
        )  # fmt: skip


def _enough_people(
    scored: Candidate,
    cases: _Cases,
    task: Task,
    config: ExactConfig,
    key: bytes,
    progress: Progress,
) -> tuple[ExactModifier, IntArray]:
    """The balanced plan of some scores, without the codes that fewer than `least` people get."""
    data, people = cases.dataset, cases.people
    kept = scored.expected(torch.from_numpy(cases.u)) >= 2 * config.least
    if int(kept.sum()) < 2:
        kept = torch.ones(len(scored.reader), dtype=torch.bool)
    kept = with_every_value(kept, scored.log_shares)
    potentials: torch.Tensor | None = None
    labels = {n: data.attribute(n) for n in cases.roles.named}
    for attempt in range(_TRIES + 1):
        balance = scored.balanced(
            kept,
            task,
            torch.from_numpy(cases.cell),
            torch.from_numpy(cases.value_of_cell),
            before=potentials,
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
        )
        with progress.stage(f"drawing {len(reader):,} codes", 1) as bar:
            drawn = made.draw(data.x, labels)
            bar.advance()
        behind = people_behind(drawn, people, len(reader))
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
        f"fewer than two codes have {config.least} people behind them; give more records, or lower"
        " least"
    )


def _placed(
    made: ExactModifier,
    dataset: Dataset,
    drawn: IntArray,
    people: IntArray,
    config: ExactConfig,
    progress: Progress,
) -> ExactModifier:
    """The modifier with its code vectors and, for a table, the values of each code."""
    plan, number = made.plan, len(made.codes)
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
    )
