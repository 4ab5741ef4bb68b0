"""The choice of scores and of the number of codes, without any label of use."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from methods.features.exact.planned import fitted, world
from support import Recorder
from withhold.methods.features.exact.shared_information import NearPairs


def _pairs(first: torch.Tensor, second: torch.Tensor, *, seed: int = 0) -> NearPairs:
    """Records and their nearest ones, beside random ones."""
    generator = torch.Generator().manual_seed(seed)
    random = second[torch.randperm(len(second), generator=generator)]
    return NearPairs(first, second[:, None], random[:, None])


@pytest.mark.parametrize("codes", [2, 8, 32])
def test_equal_codes_of_pairs_tell_the_entropy_of_the_codes(codes: int) -> None:
    """Each pair has one of N codes, evenly: log2 N bits, less the chance of random pairs."""
    code = torch.arange(6400) % codes
    plan = torch.nn.functional.one_hot(torch.cat([code, code]), codes).float()
    pairs = _pairs(torch.arange(6400), torch.arange(6400, 12800))
    assert pairs.information(plan.__getitem__) == pytest.approx(np.log2(codes), abs=0.15)


def test_codes_at_random_tell_nothing() -> None:
    """Not even with so many codes that few pairs share one."""
    generator = torch.Generator().manual_seed(1)
    for codes in (4, 64):
        code = torch.randint(codes, (4000,), generator=generator)
        plan = torch.nn.functional.one_hot(code, codes).float()
        pairs = _pairs(torch.arange(2000), torch.arange(2000, 4000))
        assert pairs.information(plan.__getitem__) == pytest.approx(0.0, abs=0.1)


def test_a_soft_plan_tells_less_than_a_sharp_one() -> None:
    code = torch.arange(4000) % 4
    sharp = torch.nn.functional.one_hot(code, 4).float()
    pairs = _pairs(torch.arange(0, 2000), torch.arange(2000, 4000))
    told = [pairs.information((a * sharp + (1 - a) / 4).__getitem__) for a in (1.0, 0.5, 0.0)]
    assert told[0] > told[1] > told[2]
    assert told[2] == pytest.approx(0.0, abs=1e-6)


def test_scores_and_codes_are_chosen_by_what_they_keep() -> None:
    """Six contents and a carried number of codes far above: fewer keep as much, and it is said."""
    said = Recorder()
    made = fitted(
        world((300, 300)),
        progress=said,
        codes=None,
        scores=None,
        rounds=1,
        exact_rounds=1,
        epochs=3,
    )
    assert any("the network is taken" in s or "the metric is taken" in s for s in said.lines)
    assert 4 <= len(made.codes) <= 60


def test_what_the_user_sets_is_not_varied() -> None:
    said = Recorder()
    made = fitted(world((300, 300)), progress=said, codes=12, scores="metric")
    assert made.plan.reader.kind == "metric"
    assert not any("is taken" in s for s in said.lines)
    assert len(made.codes) <= 12


def test_the_same_seed_chooses_the_same() -> None:
    one, two = (
        fitted(world((200, 200)), codes=None, scores=None, rounds=1, exact_rounds=0, epochs=2)
        for _ in range(2)
    )
    assert one.plan.reader.kind == two.plan.reader.kind
    assert np.array_equal(one.plan.potentials, two.plan.potentials)
