"""Which scores, and how many codes: the candidate that keeps most, by `shared_information`.

A metric with as many codes as the records carry comes first, then with a quarter, and so on, as
long as more is kept. A network then learns that number of codes. What the user has set is not
varied. No candidate changes what is proved: the plan of each is balanced exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from withhold.methods.channel import IntArray
from withhold.methods.features.codebook.codes import Barycentre
from withhold.methods.features.codebook.learner import Task
from withhold.methods.features.exact.candidates import (
    ExactCandidate,
    by_metric,
    by_network,
    first_codes,
)
from withhold.methods.features.exact.config import ExactConfig
from withhold.methods.features.exact.exact_balance import exact_plan
from withhold.methods.features.exact.shared_information import NearPairs, near_pairs
from withhold.records.tabular import TableEncoder

_FEWER = 4  # times fewer codes in the next candidate
_FEWEST = 4  # codes of a candidate
_MOST = 60_000  # records on which candidates are compared


@dataclass(frozen=True, eq=False)
class Choice:
    """The records of a task, their cells (n,), and the preserved value of each cell (C,)."""

    task: Task
    config: ExactConfig
    encoder: TableEncoder | None
    cell: Tensor
    value_of_cell: Tensor

    def made(self, numbers: IntArray) -> ExactCandidate:
        """The best candidate with at most so many codes of each preserved value, (U,)."""
        config = self.config
        scores = config.scores or (None if self.encoder is None else "metric")
        numbered = config.codes is not None or self.encoder is not None
        task, start = self._start(numbers)
        pairs = None if scores and numbered else self._pairs(start)
        if pairs is None:
            return self._by(scores or "network", task, start)
        best = self._by("metric", task, start)
        kept = self._kept(best, task, pairs)
        while not numbered and numbers.sum() >= _FEWER * _FEWEST:
            numbers = np.maximum(numbers // _FEWER, 1)
            fewer, codes = self._start(numbers)
            found = self._by("metric", fewer, codes)
            told = self._kept(found, fewer, pairs)
            if told <= kept:
                break
            task, start, best, kept = fewer, codes, found, told
        if scores is not None:
            return best if scores == "metric" else self._by(scores, task, start)
        network = self._by("network", task, start)
        told = self._kept(network, task, pairs)
        task.progress.say(
            f"{task.codes:,} codes tell {kept:.2f} bits of near records of other classes if a"
            f" metric compares records with codes, {told:.2f} if a network does: the"
            f" {'network' if told > kept else 'metric'} is taken"
        )
        return network if told > kept else best

    def _by(self, scores: str, task: Task, start: Barycentre) -> ExactCandidate:
        if scores == "network":
            return by_network(task, start, self.config)
        return by_metric(task, start, self.config, self.encoder)

    def _start(self, numbers: IntArray) -> tuple[Task, Barycentre]:
        """The task with so many codes, and its first codes."""
        codes = int(numbers.sum())
        task = replace(self.task, codes=codes, config=self.config.of_codebook(codes))
        return task, first_codes(task, numbers, self.encoder)

    def _pairs(self, start: Barycentre) -> NearPairs | None:
        some = self.task.on(self._rows)
        return near_pairs(some, start.metric.place(some.x, some.s))

    @torch.no_grad()
    def _kept(self, candidate: ExactCandidate, task: Task, pairs: NearPairs) -> float:
        """What the balanced plan of a candidate keeps, in bits."""
        common = candidate.common(task.u, self.config.least)
        some, cell = task.on(self._rows), self.cell[self._rows]
        made = candidate.balanced(common, some, cell, self.value_of_cell)
        reader = candidate.reader.keep(common)
        parts = [v.clamp_min(-1e4).float() for v in (made.potentials, made.keep, made.rest)]

        def plan(rows: Tensor) -> Tensor:
            pieces = [
                exact_plan(
                    reader.scores(some.x[part], some.s[part]), *(v[cell[part]] for v in parts)
                )
                for part in rows.split(4096)
            ]
            return torch.cat(pieces)

        return pairs.information(plan)

    @cached_property
    def _rows(self) -> Tensor:
        """The records on which candidates are compared: more would only cost time."""
        return self.task.some(_MOST, "choice")
