"""`adversarial`: one step is the algorithm, opponents are kept up by capped updates, restarts."""

from __future__ import annotations

from copy import deepcopy
from itertools import count
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from methods.clips.tiny_players import players, seen, task
from methods.clips.toy_clips import SMALL, clips, fitted
from support import Recorder, key_of
from withhold.actions.fit import fit_bundle
from withhold.core.errors import UserError
from withhold.methods import Journal, read_config
from withhold.methods.clips.adversarial.config import AdversarialConfig
from withhold.methods.clips.adversarial.step import (
    SeenClips,
    action_step,
    action_updates,
    anonymiser_step,
    privacy_step,
    privacy_updates,
    restart,
    worst,
)
from withhold.methods.clips.clip_watch import ClipWatch
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

CONFIG = AdversarialConfig(gamma=2.0, frames=4)


def test_a_step_of_the_anonymiser_is_the_equation() -> None:
    one, two, t = players(), players(), task(1)
    made, found = anonymiser_step(one, t, CONFIG)

    x = two.anonymiser(t.x.reshape(-1, 3, 6, 6)).reshape(t.x.shape)
    act = F.cross_entropy(two.action(x.permute(0, 2, 1, 3, 4)), t.action[:, 0])
    chosen = torch.stack([x[i, k] for i, frames in enumerate(t.frames) for k in frames])
    terms = []
    for network in two.privacy:
        s = network(chosen)
        person = -s[:, :4].log_softmax(1).mean() - torch.log(torch.tensor(4.0))
        half = torch.full_like(s[:, 4:], 0.5)
        marks = F.binary_cross_entropy_with_logits(s[:, 4:], half) - torch.log(torch.tensor(2.0))
        terms.append((person + marks) / 2)
    values = [term.item() for term in terms]
    loss = act + 2.0 * terms[values.index(max(values))]
    loss.backward()
    assert found["suppress"].item() == pytest.approx(max(values))
    torch.testing.assert_close(made, x.detach())
    assert not made.requires_grad
    for p, q in zip(one.anonymiser.parameters(), two.anonymiser.parameters(), strict=True):
        torch.testing.assert_close(p, q - 0.1 * q.grad)
    for p, q in zip(one.action.parameters(), two.action.parameters(), strict=True):
        assert torch.equal(p, q)


def test_the_worst_model_alone_has_a_gradient() -> None:
    losses = [torch.tensor(v, requires_grad=True) for v in (0.3, 0.9, 0.5)]
    worst([loss * 2 for loss in losses]).backward()
    assert [loss.grad is None for loss in losses] == [True, False, True]


def test_opponents_learn_their_labels_by_one_step() -> None:
    one, two, s = players(), players(), seen(1)
    action_step(one, s)
    loss = F.cross_entropy(two.action(s.made.permute(0, 2, 1, 3, 4)), s.action[:, 0])
    loss.backward()
    for p, q in zip(one.action.parameters(), two.action.parameters(), strict=True):
        torch.testing.assert_close(p, q - 0.1 * q.grad)
    updated, found = privacy_step(one, 1, s)
    assert updated
    assert 0 <= float(found["privacy_read"]) <= 1
    for i, (p, q) in enumerate(zip(one.privacy, two.privacy, strict=True)):
        same = all(torch.equal(a, b) for a, b in zip(p.parameters(), q.parameters(), strict=True))
        assert same == (i != 1)


@pytest.mark.parametrize(
    ("threshold", "least", "most", "taken"),
    # No model is ever right more often than always, and each is right at least never.
    [(1.0, 1, 5, 15), (0.0, 1, 5, 3), (0.0, 0, 5, 0), (1.0, 0, 0, 0), (0.0, 2, 2, 6)],
)
def test_updates_of_privacy_models_are_capped(
    threshold: float, least: int, most: int, taken: int
) -> None:
    config = CONFIG.model_copy(
        update={"privacy_threshold": threshold, "least_updates": least, "most_updates": most}
    )
    batches = (wrong(seed) for seed in count())
    assert privacy_updates(players(), batches, config)[0] == taken


def wrong(seed: int) -> SeenClips:
    """Frames of noise with random labels, which nobody can always be right about."""
    return seen(seed, b=16)


def test_updates_of_the_action_model_are_capped_and_stop_at_the_threshold() -> None:
    config = CONFIG.model_copy(update={"least_updates": 1, "most_updates": 6})
    batches = (seen(seed) for seed in count())
    assert action_updates(players(), batches, config, None) == 1
    assert action_updates(players(), batches, config, lambda: 0.0) == 6
    measured = iter([0.2, 0.5, 0.8])
    assert action_updates(players(), batches, config, lambda: next(measured)) == 3


@pytest.mark.parametrize(("how", "chosen"), [("turn", [(0,), (1,), (2,), (0,)]),
                                             ("all", [(0, 1, 2)] * 4)])  # fmt: skip
def test_privacy_models_are_restarted_when_it_is_time(
    how: str, chosen: list[tuple[int, ...]]
) -> None:
    config = AdversarialConfig(restart_every=5, restart=how, restart_updates=0, frames=4)
    nets = players()
    batches = (seen(seed) for seed in count())
    privacy_updates(nets, batches, config)
    found = []
    for step in range(21):
        before = [deepcopy(n.state_dict()) for n in nets.privacy]
        again = restart(nets, step, batches, config, 0)
        if again:
            found.append(again)
        for i, (old, network) in enumerate(zip(before, nets.privacy, strict=True)):
            same = torch.equal(old["0.weight"], network.state_dict()["0.weight"])
            assert same == (i not in again)
    assert found == chosen


def test_a_restarted_model_is_trained_at_once_but_not_for_ever() -> None:
    config = AdversarialConfig(restart_every=1, restart="turn", restart_updates=7, frames=4,
                               privacy_threshold=1.0)  # fmt: skip
    drawn = []

    def batches() -> object:
        for seed in count():
            drawn.append(seed)
            yield wrong(seed)

    restart(players(), 1, batches(), config, 0)
    assert len(drawn) == 7


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"most_updates": 0}, "most_updates 0 is below least_updates 1"),
        ({"privacy_frames": 9, "frames": 8}, "more than a clip has"),
        ({"height": 50}, "height 50 cannot be halved 3 times .* use 48"),
        ({"privacy_models": ["resnet17"]}, "no image model 'resnet17'; did you mean 'resnet1"),
        ({"privacy_models": ["resnet18:9"]}, "at most 4"),
        ({"action_model": "r3d18 wide"}, "is no network"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_config("adversarial", settings)


def test_the_paper_preset_has_eight_privacy_models() -> None:
    config = read_config("adversarial", {"preset": "paper"})
    assert isinstance(config, AdversarialConfig)
    assert len(config.privacy_models) == 8


def test_a_fit_without_an_action_is_refused() -> None:
    with pytest.raises(UserError, match="needs the attribute of the action; name it with --pres"):
        fitted("adversarial", preserve="")


def test_a_fit_on_images_is_refused() -> None:
    data = clips()
    assert data.media is not None
    images = Dataset.from_arrays(
        torch.randint(0, 255, (len(data), 8, 8, 3), dtype=torch.uint8).numpy(),
        {n: data.table[n].to_pylist() for n in ("secret", "useful")},
    )
    with pytest.raises(UserError, match="learns from clips, and the data holds images"):
        fitted("adversarial", images)


def test_warnings_of_a_collapse_and_a_lost_action_come_once() -> None:
    said = Recorder()
    watch = ClipWatch(said, action_floor=0.5)
    good = {"spread": 0.2, "action_val": 0.9, "privacy_spread": 1.0}
    for means in (good, *[{**good, "spread": 0.001}] * 3, *[{**good, "action_val": 0.51}] * 3):
        watch.look(means)
    assert [("look the same" in line, "guessing 50 %" in line) for line in said.lines] == [
        (True, False), (False, True)
    ]  # fmt: skip


def test_the_losses_of_every_epoch_are_in_the_bundle() -> None:
    bundle = fitted("adversarial", key=key_of(0))
    stages = {entry["stage"] for entry in bundle.history}
    assert stages == {"reconstruction", "action model", "privacy models", "adversarial"}
    last = bundle.history[-1]
    assert {"action", "suppress", "privacy_read", "action_val", "privacy_updates"} <= set(last)
    assert last["privacy_updates"] <= SMALL["most_updates"]


def test_fits_that_begin_alike_train_their_first_phases_once(tmp_path: Path) -> None:
    def saved(**config: object) -> dict[str, int]:
        fit_bundle(
            clips(), Roles.of("secret", "useful"), method="adversarial", config=SMALL | config,
            key=key_of(0), journal=Journal(tmp_path),
        )  # fmt: skip
        return {f.name: f.stat().st_mtime_ns for f in tmp_path.glob("*.safetensors")}

    one, two = saved(), saved(gamma=3.0)
    assert {name: two[name] for name in one} == one
    assert [name.split("-")[0] for name in set(two) - set(one)] == ["adversarial"]
    three = saved(privacy_rate=2e-3)
    assert sorted(name.split("-")[0] for name in set(three) - set(two)) == [
        "adversarial", "privacy_models"
    ]  # fmt: skip
