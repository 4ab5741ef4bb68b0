"""Enough people behind every code, or no code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
import torch

from methods.features.codebook.leaking import (
    QUICK,
    draw,
    far_apart,
    fit,
    leaking,
    made,
    probabilities,
    use_of_codes,
)
from support import Recorder
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.methods import Journal
from withhold.methods.features.codebook import CodebookModifier
from withhold.methods.features.codebook.assemble import (
    draws_of,
    enough_people,
    people_behind,
    people_of,
    without,
)
from withhold.methods.features.codebook.cells import joint_classes
from withhold.methods.features.codebook.config import CodebookConfig
from withhold.methods.features.codebook.fit import SOLVERS, _task
from withhold.methods.features.codebook.learner import Learned, Task
from withhold.methods.features.codebook.robust import robust_means
from withhold.records.dataset import Dataset


def grouped(data: Dataset, people: int) -> Dataset:
    names = pa.array([f"person {i % people}" for i in range(len(data))])
    table = data.table.append_column("person", names)
    return Dataset.from_arrays(data.x, table, name=data.name, group="person")


def behind(modifier: CodebookModifier, data: Dataset) -> list[int]:
    """Distinct people (records, where nobody is named) of train that got each code."""
    train = data.part("train")
    who = train.group_codes if train.group else np.arange(len(train))
    code = draw(modifier, train)
    return [len(np.unique(who[code == j])) for j in range(len(modifier.codes))]


@pytest.mark.parametrize("solver", ["self-label", "barycentre", "substitute"])
@pytest.mark.parametrize("least", [1, 4, 7])
def test_every_code_has_so_many_records_behind_it(solver: str, least: int) -> None:
    data, said = leaking(600), Recorder()
    use = solver == "barycentre"
    modifier = made(
        data, codes=24, least=least, solver=solver, use_labels=use, epochs=4, progress=said
    )
    assert min(behind(modifier, data)) >= least
    left = 24 - len(modifier.codes)
    assert (f"{left} of 24 codes had fewer than {least} people" in said.text) == (left > 0)


@pytest.mark.slow
def test_people_are_counted_and_not_their_records() -> None:
    data = grouped(leaking(1000), 12)
    modifier = made(data, codes=40, least=8)
    assert min(behind(modifier, data)) >= 8
    ungrouped = made(leaking(1000), codes=40, least=8)
    assert len(modifier.codes) < len(ungrouped.codes)


def test_more_people_than_there_are_is_refused() -> None:
    with pytest.raises(UserError, match="fewer than two codes have 9 people behind them"):
        fit(grouped(leaking(600), 8), least=9)


def learned(data: Dataset, **settings: Any) -> tuple[Learned, Task]:
    """A channel of all its codes, and what it was learned from."""
    train = data.part("train")
    who, u = train.attribute("who"), np.zeros(len(train), np.int64)
    config = CodebookConfig(**QUICK | {"least": 1} | settings)
    task = _task(train, who.codes, u, len(who.classes), config, Silent(), 0, Journal())
    return SOLVERS[config.solver](task), task


def channel(of: Learned, task: Task) -> npt.NDArray[np.float64]:
    """W(j | x, s) of the fitted records."""
    scores = of.reader.scores(task.x, task.s)
    scores = scores if of.potentials is None else scores + of.potentials[task.s]
    return torch.softmax(scores.double(), dim=1).numpy()


@pytest.mark.parametrize("solver", ["self-label", "barycentre", "substitute"])
def test_what_is_left_of_a_channel_scores_as_before_and_meets_its_shares_again(solver: str) -> None:
    every, task = learned(leaking(400), solver=solver, use_labels=True)
    kept = np.arange(0, len(every.reader), 2)
    fewer = without(every, task, kept)
    assert len(fewer.reader) == len(kept)
    # Up to a constant of the record: the network's are log-probabilities.
    one, two = every.reader.scores(task.x, task.s)[:, kept], fewer.reader.scores(task.x, task.s)
    torch.testing.assert_close(one - one[:, :1], two - two[:, :1], atol=1e-2, rtol=1e-4)
    assert every.wanted is not None
    assert fewer.wanted is not None
    share = every.wanted.exp()[:, kept]
    torch.testing.assert_close(fewer.wanted.exp(), share / share.sum(dim=1, keepdim=True))
    use = use_of_codes(channel(fewer, task), task.s.numpy())
    assert np.abs(use - fewer.wanted.exp().numpy()).sum(axis=1).max() / 2 < 2.5e-3


def test_without_labels_it_is_the_same_channel_among_fewer() -> None:
    every, task = learned(leaking(400))
    kept = np.arange(1, len(every.reader), 2)
    fewer = without(every, task, kept)
    assert (fewer.potentials, fewer.wanted) == (None, None)
    w = channel(every, task)[:, kept]
    np.testing.assert_allclose(channel(fewer, task), w / w.sum(axis=1, keepdims=True), atol=1e-4)


def test_the_vectors_of_what_is_left_are_means_again() -> None:
    """Records of a code that is left out go to others, which then stand for them too."""
    data, said = leaking(600), Recorder()
    modifier = made(data, codes=24, least=7, epochs=4, folds=1, progress=said)
    assert "codes had fewer than 7 people" in said.text
    train = data.part("train")
    drawn, number = draws_of(modifier, train), len(modifier.codes)
    expected = robust_means(train.x, drawn, people_of(train), codes=number, least=7)
    np.testing.assert_allclose(modifier.codes, expected, atol=1e-6)
    np.testing.assert_allclose(modifier.book.weights, np.bincount(drawn) / len(drawn), atol=1e-6)


def test_few_records_get_few_codes_and_not_an_error() -> None:
    """360 records are enough for many codes of fifteen people each, if not for all forty."""
    data, said = leaking(600), Recorder()
    modifier = made(data, codes=40, least=15, epochs=4, progress=said)
    assert len(modifier.codes) >= 4
    assert min(behind(modifier, data)) >= 15
    assert "codes are used instead of 40" in said.text


@pytest.mark.parametrize("n", [20, 30, 40])
def test_very_few_records_with_no_settings_at_all(n: int) -> None:
    data = leaking(n, 2, 2)
    data = Dataset.from_arrays(data.x, {"who": data.table["who"], "split": ["train"] * n})
    modifier = made(data, codes=None, smallest=1, epochs=10, hidden=[16])
    assert min(behind(modifier, data)) >= 5


def test_classes_use_what_is_left_alike() -> None:
    """Codes are left out, and the classes must still be balanced over the others."""
    data = leaking(600)
    train, said = data.part("train"), Recorder()
    every, task = learned(data, use_labels=True, codes=24)
    who = train.attribute("who").codes
    assert far_apart(use_of_codes(channel(every, task), who)) < 0.003
    strict = replace(task, config=task.config.model_copy(update={"least": 18}))
    classes = joint_classes([train.attribute("who")]).names
    fewer = enough_people(
        every, strict, train, lambda book: CodebookModifier(book, b"key", ("who",), classes), said
    )
    assert 2 <= len(fewer.codes) < 24
    assert min(people_behind(draws_of(fewer, train), people_of(train), len(fewer.codes))) >= 18
    assert f"{24 - len(fewer.codes)} of 24 codes had fewer than 18 people" in said.text
    assert far_apart(use_of_codes(probabilities(fewer, train), who)) < 0.003
