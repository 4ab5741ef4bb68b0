"""Codes by barycentre: k-means start, codes for every preserved value, weights that fit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from methods.features.codebook.leaking import changed, leaking, made
from withhold.core.progress import Silent
from withhold.methods import Journal
from withhold.methods.features.codebook import codes as module
from withhold.methods.features.codebook.codes import Barycentre, find_barycentre, kmeans
from withhold.methods.features.codebook.config import CodebookConfig
from withhold.methods.features.codebook.fit import _task
from withhold.methods.features.codebook.learner import Task
from withhold.methods.features.codebook.transport import plan
from withhold.records.dataset import Dataset


def task(
    data: Dataset, preserve: str | None = None, *, codes: int = 12, **settings: object
) -> Task:
    u = data.attribute(preserve).codes if preserve else np.zeros(len(data), np.int64)
    config = CodebookConfig(codes=codes, **settings)
    who = data.attribute("who")
    return _task(data, who.codes, u, len(who.classes), config, Silent(), 0, Journal())


def use(found: Barycentre, of: Task) -> torch.Tensor:
    """Each cell's shares of the codes, (C, N)."""
    w = plan(found.reader().scores(of.x, of.s), of.cell, found.potentials)
    total = torch.zeros_like(found.potentials).index_add_(0, of.cell, w)
    return total / torch.bincount(of.cell)[:, None]


def test_kmeans_finds_clusters_that_are_there() -> None:
    centres = torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    noise = torch.randn(300, 2, generator=torch.Generator().manual_seed(0))
    z = centres[torch.arange(300) % 3] + 0.1 * noise
    tried = (kmeans(z, 3, seed) for seed in range(5))
    best = min(tried, key=lambda c: float(torch.cdist(z, c).min(dim=1).values.mean()))
    assert torch.cdist(centres, best).min(dim=1).values.max() < 0.1


def test_kmeans_with_more_centres_than_different_records() -> None:
    z = torch.tensor([[0.0], [1.0]]).repeat(20, 1)
    found = kmeans(z, 6, 0)
    assert found.shape == (6, 1)
    assert found.isfinite().all()
    assert {0.0, 1.0} <= set(found.flatten().tolist())
    assert torch.equal(found, kmeans(z, 6, 0))


def test_there_are_as_many_codes_as_asked_for_and_each_value_has_some() -> None:
    data = leaking(400)
    word = ["rare" if i in (3, 50, 77, 101, 240) else w
            for i, w in enumerate(data.table["word"].to_pylist())]  # fmt: skip
    of = task(changed(data, word=word), "word")
    found = find_barycentre(of)
    assert len(found.codes) == len(found.value) == 12
    count = torch.bincount(found.value, minlength=5)
    assert count.min() >= 1
    assert count[0] == 1  # 'rare' comes first: 1 % of the records
    assert found.stands.sum(dim=0).eq(1).all()
    torch.testing.assert_close(found.log_shares.exp().sum(dim=1), torch.ones(5))


def test_every_class_uses_the_codes_nearly_alike() -> None:
    of = task(leaking(400))
    found = find_barycentre(of)
    assert (use(found, of) - use(found, of).mean(dim=0)).abs().sum(dim=1).max() < 0.2


def test_codes_stand_where_the_content_is() -> None:
    """Four words are four clusters in every class; each code lies in one of them."""
    of = task(leaking(800, noise=0.1), codes=4, outer=10)
    found = find_barycentre(of)
    z = found.metric.place(of.x, of.s)
    assert torch.cdist(z, found.codes).min(dim=1).values.max() < 0.8  # the clusters are 1.5 apart


def test_names_of_classes_do_not_matter() -> None:
    data = leaking(400)
    turned = {"p0": "p3", "p1": "p0", "p2": "p4", "p3": "p1", "p4": "p2"}
    other = changed(data, who=[turned[w] for w in data.table["who"].to_pylist()])
    one, two = (find_barycentre(task(d)) for d in (data, other))
    torch.testing.assert_close(one.codes, two.codes, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(one.potentials[1], two.potentials[0], atol=1e-2, rtol=1e-2)


def test_all_records_equal() -> None:
    data = leaking(200)
    same = Dataset.from_arrays(np.ones_like(data.x), data.table)
    found = find_barycentre(task(same))
    assert found.codes.isfinite().all()
    assert found.potentials.isfinite().all()


def test_a_part_of_very_many_records_places_the_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 150)
    of = task(leaking(400))
    found = find_barycentre(of)
    assert found.codes.isfinite().all()
    assert (use(found, of) - use(found, of).mean(dim=0)).abs().sum(dim=1).max() < 0.5


def test_a_value_that_the_part_misses_has_a_code_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 60)
    data = leaking(800)
    word = ["rare" if i in (3, 4, 5, 6, 8) else w
            for i, w in enumerate(data.table["word"].to_pylist())]  # fmt: skip
    found = find_barycentre(task(changed(data, word=word), "word"))
    assert found.stands.any(dim=1).all()


def test_a_class_that_the_part_misses_has_its_own_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its records are compared by where they stand among their own class, as all others are."""
    monkeypatch.setattr(module, "_MOST", 60)
    data = leaking(800, shift=20)
    first = np.flatnonzero(data.attribute("who").codes == 0)[:5]
    who = ["rare" if i in first else w for i, w in enumerate(data.table["who"].to_pylist())]
    of = task(changed(data, who=who))
    found = find_barycentre(of)
    own = of.x[of.s == 5].mean(dim=0)
    assert own[0] > 19
    torch.testing.assert_close(found.metric.means[5], own, atol=1.5, rtol=0)


def test_fewer_records_than_codes() -> None:
    data = leaking(100, 2, 2)
    assert len(made(data, codes=64, smallest=1, least=1).codes) <= 32
