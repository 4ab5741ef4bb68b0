"""Predictions averaged over the records of one source: ten windows of a video give one answer.

    p(c | video) = mean over its windows w of p(c | w)

An attribute that changes within a source (a face in some of the frames) keeps one answer per
record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_softmax, logit

from withhold.audit.attack import Outcome
from withhold.audit.attack_jobs import Jobs
from withhold.audit.attack_plan import Question
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.split import AttackParts
from withhold.core.errors import UserError, did_you_mean
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.tables import encode_any

Rows = npt.NDArray[np.int64]
_SURE = 1e-7


def is_of_sources(attribute: Attribute, sources: Rows) -> bool:
    """Whether the attribute is constant within every source, missing labels aside."""
    codes = attribute.codes if attribute.multilabel else attribute.codes[:, None]
    for column in codes.T:
        known = column >= 0
        pairs = np.unique(np.stack([sources[known], column[known]]), axis=1)
        if len(np.unique(pairs[0])) != pairs.shape[1]:
            return False
    return True


def averaged(
    outcomes: Sequence[Outcome], attribute: Attribute, parts: AttackParts, sources: Rows
) -> list[Outcome]:
    """The outcomes with each record's prediction replaced by the mean over its source."""

    def mean(said: FloatArray, rows: Rows) -> FloatArray:
        return mean_of_sources(said, sources[rows], multilabel=attribute.multilabel)

    return [
        replace(
            one,
            val=mean(one.val, parts.val),
            test=mean(one.test, parts.test),
            also=None if one.also is None else mean(one.also, parts.test),
        )
        for one in outcomes
    ]


def mean_of_sources(said: FloatArray, sources: Rows, *, multilabel: bool) -> FloatArray:
    """Scores (n, classes) of the mean probability over the source of each record."""
    p = expit(said.astype(np.float64)) if multilabel else np.exp(log_softmax(said, axis=1))
    _, member = np.unique(sources, return_inverse=True)
    total = np.zeros((int(member.max(initial=-1)) + 1, said.shape[1]))
    np.add.at(total, member, p)
    mean = np.clip(total / np.bincount(member)[:, None], _SURE, 1 - _SURE)[member]
    out: FloatArray = (logit(mean) if multilabel else np.log(mean)).astype(np.float32)
    return out


def by_source(data: Dataset, column: str) -> Dataset:
    """Group the data by source if it has no group, so that intervals count sources."""
    if column not in data.table.column_names:
        hint = did_you_mean(column, data.table.column_names)
        raise UserError(f"column '{column}' is not in {data.name}{hint}; nothing to average over")
    return data if data.group is not None else replace(data, group=column)


def average_over(data: Dataset, column: str, asks: Sequence[Question], jobs: Jobs) -> None:
    """Replace the predictions for every record by the mean over its source."""
    sources = encode_any(data.table[column])
    parts = np.unique(np.asarray(data.parts), return_inverse=True)[1]
    if len(np.unique(np.stack([sources, parts]), axis=1)[0]) != len(np.unique(sources)):
        raise UserError(
            f"the split of {data.name} puts records of one '{column}' into several parts, so"
            " attackers train on what they are tested on; add a column 'split' that keeps the"
            f" records of each '{column}' together"
        )
    for q in asks:
        if is_of_sources(q.attribute, sources):
            for said in (jobs.ladder, jobs.models, jobs.repeated):
                said[q.name] = averaged(said[q.name], q.attribute, q.parts, sources)
