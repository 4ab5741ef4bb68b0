"""Any number of networks, optimisers, schedulers and generators come back to the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from withhold.learn.checkpoint import Part, load_checkpoint, save_checkpoint
from withhold.learn.training import initialise


class Training:
    """A filter and a critic that learn against each other, with noise from a running generator."""

    def __init__(self) -> None:
        self.filter = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.critic = nn.Sequential(nn.Conv2d(4, 2, 3), nn.Flatten(), nn.Linear(32, 1))
        initialise(self.filter, 0, "filter")
        initialise(self.critic, 0, "critic")
        for network in (self.filter, self.critic):  # moments must come back in the same order
            network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.slow = torch.optim.SGD(self.filter.parameters(), lr=0.1, momentum=0.9, nesterov=True)
        self.fast = torch.optim.AdamW(
            self.critic.parameters(), lr=0.01, betas=(0.5, 0.9), fused=True
        )
        self.schedule = torch.optim.lr_scheduler.StepLR(self.slow, step_size=2, gamma=0.5)
        self.noise = torch.Generator().manual_seed(1)

    @property
    def parts(self) -> dict[str, Part]:
        return vars(self).copy()

    def step(self) -> None:
        x = torch.randn(4, 3, 6, 6, generator=self.noise)
        loss = self.critic(self.filter(x)).square().mean()
        self.slow.zero_grad()
        self.fast.zero_grad()
        loss.backward()
        self.slow.step()
        self.fast.step()
        self.schedule.step()

    def bytes(self) -> list[Any]:
        tensors = [*self.filter.state_dict().values(), *self.critic.state_dict().values()]
        return [t.numpy().tobytes() for t in tensors] + [self.slow.param_groups[0]["lr"]]


@pytest.mark.parametrize("done", [1, 2, 5])
def test_a_resumed_training_equals_one_that_was_not_interrupted(tmp_path: Path, done: int) -> None:
    whole, first, second = Training(), Training(), Training()
    for _ in range(8):
        whole.step()
    for _ in range(done):
        first.step()
    save_checkpoint(tmp_path / "c.safetensors", first.parts, {"steps": done})
    second.noise.manual_seed(99)
    note = load_checkpoint(tmp_path / "c.safetensors", second.parts)
    assert note == {"steps": done}
    for _ in range(8 - done):
        second.step()
    assert second.bytes() == whole.bytes()
    assert first.bytes() != whole.bytes()


def test_a_torn_or_foreign_file_restores_nothing(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    training = Training()
    before = training.bytes()
    assert load_checkpoint(path, training.parts) is None
    other = Training()
    other.step()
    save_checkpoint(path, other.parts, {})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert load_checkpoint(path, training.parts) is None
    path.write_bytes(whole)
    fewer = {k: v for k, v in training.parts.items() if k != "critic"}
    assert load_checkpoint(path, fewer) is None
    assert training.bytes() == before
    assert load_checkpoint(path, training.parts) == {}
    assert training.bytes() == other.bytes()


def test_tied_weights_and_a_named_twin_are_kept_apart(tmp_path: Path) -> None:
    """`net` is a prefix of `network`; one of them shares a weight with itself."""
    network, net = nn.Linear(3, 3), nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    save_checkpoint(tmp_path / "c", {"net": net, "network": network})
    again, other = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), nn.Linear(3, 3)
    load_checkpoint(tmp_path / "c", {"net": again, "network": other})
    assert torch.equal(again[1].weight, net[0].weight)
    assert torch.equal(other.weight, network.weight)
