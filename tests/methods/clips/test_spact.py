"""`spact`: both steps against the equations, the branches, and that no private label is used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from methods.clips.tiny_players import ACTIONS, players
from methods.clips.toy_clips import SPACT, clips, fitted
from support import Recorder, key_of
from withhold.learn.losses.nt_xent import nt_xent
from withhold.methods.clips.spact.branch import Branch, make_branch
from withhold.methods.clips.spact.config import SpactConfig
from withhold.methods.clips.spact.step import (
    Networks,
    SpactBatch,
    anonymiser_step,
    opponents_step,
)

CONFIG = SpactConfig(**{**SPACT, "weight": 0.5})


def branch(kind: str = "contrastive") -> Branch:
    config = CONFIG.model_copy(update={"branch": kind})
    return make_branch(config, 0, torch.device("cpu")).double()


def networks() -> Networks:
    tiny = players()
    made = Networks(tiny.anonymiser, tiny.action, branch(), ACTIONS)
    made.optimisers = {
        f"{n}_adam": torch.optim.SGD(made.parts[n].parameters(), 0.1)
        for n in ("anonymiser", "action", "branch")
    }
    return made


def batch(seed: int = 0) -> SpactBatch:
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(4, 4, 3, 16, 16, generator=generator, dtype=torch.float64)
    action = torch.randint(0, 3, (4, 1), generator=generator)
    return SpactBatch(x, action, torch.tensor([[0, 1], [2, 0], [3, 1], [1, 2]]))


def test_odd_batches_teach_the_anonymiser_by_the_equation() -> None:
    one, two, b = networks(), networks(), batch()
    found = anonymiser_step(one, b, CONFIG)
    x = two.anonymiser(b.x.reshape(-1, 3, 16, 16)).reshape(b.x.shape)
    act = F.cross_entropy(two.action(x.permute(0, 2, 1, 3, 4)), b.action[:, 0])
    # One pass for both views: batch norms see them together.
    chosen = torch.stack([x[i, k] for i, frames in enumerate(b.drawn) for k in frames])
    z: Any = two.branch
    z = z.projector(z.features(chosen))
    contrast = nt_xent(z[::2], z[1::2], temperature=0.1)
    (act - 0.5 * contrast).backward()
    assert found["branch"].item() == pytest.approx(contrast.item())
    for p, q in zip(one.anonymiser.parameters(), two.anonymiser.parameters(), strict=True):
        torch.testing.assert_close(p, q - 0.1 * q.grad)
    for name in ("action", "branch"):
        for p, q in zip(one.parts[name].parameters(), two.parts[name].parameters(), strict=True):
            assert torch.equal(p, q)


def test_even_batches_teach_the_opponents_and_leave_the_anonymiser() -> None:
    one, two, b = networks(), networks(), batch()
    opponents_step(one, b)
    for p, q in zip(one.anonymiser.parameters(), two.anonymiser.parameters(), strict=True):
        assert torch.equal(p, q)
    with torch.no_grad():
        x = two.anonymiser(b.x.reshape(-1, 3, 16, 16)).reshape(b.x.shape)
    F.cross_entropy(two.action(x.permute(0, 2, 1, 3, 4)), b.action[:, 0]).backward()
    two.branch.loss(x, b.drawn).backward()
    for name in ("action", "branch"):
        for p, q in zip(one.parts[name].parameters(), two.parts[name].parameters(), strict=True):
            torch.testing.assert_close(p, q - 0.1 * q.grad)


@pytest.mark.parametrize("kind", ["contrastive", "rotnet", "spatio-temporal"])
def test_a_branch_learns_and_can_be_maximised(kind: str) -> None:
    torch.manual_seed(0)
    made, generator = branch(kind).float(), torch.Generator().manual_seed(0)
    x = torch.rand(6, 1, 3, 16, 16).expand(6, 4, 3, 16, 16).clone()
    x[:, :, :, :6] *= 0.2  # dark at the top, so that a rotation shows
    drawn = made.draw(6, 4, generator)
    optimiser = torch.optim.Adam(made.parameters(), 1e-3)
    losses = []
    for _ in range(12):
        loss = made.loss(x, drawn)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.8 * losses[0]
    x.requires_grad_()
    (-made.loss(x, drawn)).backward()
    assert x.grad is not None
    assert float(x.grad.abs().max()) > 0


def test_draws_are_different_frames_and_all_turns() -> None:
    generator = torch.Generator().manual_seed(0)
    pairs = branch().draw(200, 4, generator)
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert set(pairs.flatten().tolist()) == {0, 1, 2, 3}
    turned = branch("rotnet").draw(200, 4, generator)
    assert set(turned[:, 1].tolist()) == {0, 1, 2, 3}


def test_frames_that_are_no_squares_are_turned_too() -> None:
    config = CONFIG.model_copy(update={"branch": "rotnet", "height": 16, "width": 24})
    made = make_branch(config, 0, torch.device("cpu"))
    drawn = torch.tensor([[0, 1], [1, 3], [2, 0]])
    assert float(made.loss(torch.rand(3, 4, 3, 16, 24), drawn).detach()) > 0


def test_labels_of_the_suppressed_attribute_change_nothing() -> None:
    one, two = (
        fitted("spact", data, key=key_of(0)) for data in (clips(), clips(secret="of other clips"))
    )
    for name, array in one.modifier.state().items():
        np.testing.assert_array_equal(array, two.modifier.state()[name], err_msg=name)


@pytest.mark.parametrize("kind", ["rotnet", "spatio-temporal"])
def test_the_ablations_train(kind: str) -> None:
    said = Recorder()
    bundle = fitted("spact", branch=kind, epochs=2, progress=said)
    assert "'spact' learns without these labels" in said.text
    assert "action" in bundle.history[-2]  # an epoch is one batch here, and batches take turns
    assert "opponent_branch" in bundle.history[-1]
