"""Batches, seeds and schedules that every training loop shares."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from withhold.learn.training import (
    Schedule,
    adamw,
    cosine_rate,
    epoch_batches,
    epochs_for,
    initialise,
    seeded,
    set_rate,
    stage_seed,
    steps_per_epoch,
    take_step,
)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 200), batch=st.integers(2, 70))
def test_batches_are_whole_and_hold_no_record_twice(n: int, batch: int) -> None:
    draws = list(epoch_batches(n, batch, seeded(0, "x")))
    assert len(draws) == steps_per_epoch(n, batch)
    assert all(len(draw) == min(batch, n) for draw in draws)
    rows = torch.cat(draws)
    assert len(set(rows.tolist())) == len(rows)
    assert 0 <= int(rows.min()) <= int(rows.max()) < n


def test_batches_differ_between_epochs_and_repeat_for_a_seed() -> None:
    one, two, again = (
        torch.cat(list(epoch_batches(64, 16, seeded(0, "m", epoch)))) for epoch in (0, 1, 0)
    )
    assert not torch.equal(one, two)
    assert torch.equal(one, again)


def test_a_seed_per_purpose() -> None:
    seeds = {stage_seed(s, *names) for s in (0, 1, 10) for names in (("a",), ("b",), ("a", 0))}
    assert len(seeds) == 9


def test_weights_come_from_the_seed_alone_and_within_torchs_bounds() -> None:
    one, two, other = (nn.Sequential(nn.Linear(25, 4), nn.Linear(4, 3)) for _ in range(3))
    initialise(one, 0, "m")
    torch.rand(17)  # whatever else was drawn meanwhile
    initialise(two, 0, "m")
    initialise(other, 1, "m")
    for a, b, c in zip(one.parameters(), two.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
        assert not torch.equal(a, c)
    assert float(one[0].weight.detach().abs().max()) <= 1 / 5
    assert float(one[0].weight.detach().std()) == pytest.approx(0.2 / 3**0.5, rel=0.2)


def test_initialising_does_not_touch_the_global_generator() -> None:
    before = torch.random.get_rng_state()
    network = nn.Linear(3, 3)
    state = torch.random.get_rng_state()
    initialise(network, 0, "m")
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.random.set_rng_state(before)


def test_the_cosine_schedule_falls_from_the_base_to_zero() -> None:
    rates = [cosine_rate(0.01, step, 100) for step in range(101)]
    assert rates[0] == 0.01
    assert rates[50] == pytest.approx(0.005)
    assert rates[100] == pytest.approx(0, abs=1e-12)
    assert rates == sorted(rates, reverse=True)


def test_a_schedule_counts_its_steps_through_all_epochs() -> None:
    schedule = Schedule.of(50, 16, 4, steps=1500)
    found = [
        list(schedule.batches(epoch, seeded(0, "m", epoch))) for epoch in range(schedule.epochs)
    ]
    assert [step for epoch in found for step, _ in epoch] == list(range(schedule.steps))
    assert schedule.steps == 12  # three whole batches an epoch
    alone = epoch_batches(50, 16, seeded(0, "m", 2))
    assert all(torch.equal(rows, one) for (_, rows), one in zip(found[2], alone, strict=True))
    assert schedule.cosine_rate(0.01, 6) == cosine_rate(0.01, 6, 12)


def test_a_rate_for_all_groups_or_one_for_each() -> None:
    first, second = nn.Linear(2, 2), nn.Linear(3, 1)
    optimiser = adamw(first, second, rate=1.0, decay=0.5)
    assert [len(group["params"]) for group in optimiser.param_groups] == [2, 2]
    set_rate(optimiser, 0.25)
    assert [group["lr"] for group in optimiser.param_groups] == [0.25, 0.25]
    set_rate(optimiser, 0.5, 0.125)
    assert [group["lr"] for group in optimiser.param_groups] == [0.5, 0.125]


def test_a_step_follows_its_own_gradient_alone() -> None:
    """What an earlier loss left behind is cleared."""
    weight = nn.Parameter(torch.tensor([1.0]))
    optimiser = torch.optim.SGD([weight], lr=1.0)
    (100 * weight).sum().backward()
    take_step(optimiser, (0.25 * weight).sum())
    assert weight.item() == 0.75


def test_epochs_unset_make_about_the_steps_wanted() -> None:
    assert epochs_for(7, 10**6, 2, steps=100) == 7
    assert epochs_for(None, 5120, 512, steps=1500) == 150
    assert epochs_for(None, 100, 512, steps=1500) == 300  # one step an epoch, at most 300
    assert epochs_for(None, 10**7, 512, steps=1500) == 5


def _picture_network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ConvTranspose2d(4, 4, 2), nn.GroupNorm(2, 4),
        nn.Flatten(), nn.Linear(7, 5), nn.Embedding(6, 2),
        nn.GRU(2, 3), nn.MultiheadAttention(4, 2),
    )  # fmt: skip


def test_every_type_of_layer_is_drawn_from_the_seed() -> None:
    def drawn(seed: int) -> list[torch.Tensor]:
        network = _picture_network()
        initialise(network, seed, "n")
        return [p.detach() for p in network.parameters()]

    assert all(torch.equal(a, b) for a, b in zip(drawn(3), drawn(3), strict=True))
    differ = [not torch.equal(a, b) for a, b in zip(drawn(3), drawn(4), strict=True)]
    assert sum(differ) > len(differ) / 2  # scales and shifts of norms begin at 1 and 0


def test_the_caller_s_generator_is_left_alone() -> None:
    network = _picture_network()
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    initialise(network, 1, "n")
    assert torch.equal(torch.rand(3), expected)


def test_a_layer_that_cannot_be_drawn_is_refused() -> None:
    class Bare(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(3))

    with pytest.raises(TypeError, match="Bare has parameters and no reset_parameters"):
        initialise(nn.Sequential(nn.Linear(2, 2), Bare()), 0)
