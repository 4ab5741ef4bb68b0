"""`meta`: the update against explicit derivatives, and how support and query sets are made."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import torch
from torch.func import functional_call

from methods.clips.tiny_players import PRIVATE, players, task
from methods.clips.toy_clips import fitted
from support import Recorder
from withhold.core.errors import UserError
from withhold.methods.clips.adversarial.step import ClipPlayers, ClipTask, objective
from withhold.methods.clips.label_heads import Head, LabelHeads
from withhold.methods.clips.meta.config import MetaConfig
from withhold.methods.clips.meta.fit import EpochSets
from withhold.methods.clips.meta.sets import attribute_sets, draw_rows, halves, model_sets
from withhold.methods.clips.meta.step import meta_gradient, meta_step

CONFIG = MetaConfig(alpha=0.3, gamma=2.0, frames=4)


def written_out(
    nets: ClipPlayers, support: ClipTask, query: ClipTask, config: MetaConfig
) -> list[Any]:
    """grad_phi [ L(phi, D_s) + L(phi - alpha grad L(phi, D_s), D_q) ] by one large graph."""
    names = [n for n, _ in nets.anonymiser.named_parameters()]
    phi = [p.detach().clone().requires_grad_() for p in nets.anonymiser.parameters()]

    def loss(weights: list[Any], of: ClipTask) -> Any:
        spare = deepcopy(nets)  # so that no batch norm of the one changes the other
        given = dict(zip(names, weights, strict=True))
        return objective(
            spare, lambda f: functional_call(spare.anonymiser, given, (f,)), of, config
        )[0]

    first = loss(phi, support)
    slope = torch.autograd.grad(first, phi, create_graph=True)
    moved = [p - config.alpha * g for p, g in zip(phi, slope, strict=True)]
    return list(torch.autograd.grad(first + loss(moved, query), phi))


def test_the_gradient_is_that_of_both_steps_together() -> None:
    nets, support, query = players(), task(1), task(2, b=3, models=(1,))
    expected = written_out(nets, support, query, CONFIG)
    found, _ = meta_gradient(nets, support, query, CONFIG)
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-12)
    # The second derivative is no rounding error here, or the test would say nothing.
    first, _ = meta_gradient(
        players(), support, query, CONFIG.model_copy(update={"order": "first"})
    )
    assert max(float((a - b).abs().max()) for a, b in zip(found, first, strict=True)) > 1e-4


def test_first_order_leaves_only_the_second_derivative_out() -> None:
    config = CONFIG.model_copy(update={"order": "first"})
    nets, support, query = players(), task(1), task(2)
    found, _ = meta_gradient(nets, support, query, config)
    one = deepcopy(players())
    phi = [*one.anonymiser.parameters()]
    slope = torch.autograd.grad(objective(one, one.anonymiser, support, config)[0], phi)
    with torch.no_grad():
        for p, g in zip(phi, slope, strict=True):
            p -= config.alpha * g
    tested = torch.autograd.grad(objective(one, one.anonymiser, query, config)[0], phi)
    for g, a, b in zip(found, slope, tested, strict=True):
        torch.testing.assert_close(g, a + b)


def test_joint_training_is_the_gradient_of_the_sum() -> None:
    config = CONFIG.model_copy(update={"sets": "joint"})
    support, query = task(1), task(2)
    found, _ = meta_gradient(players(), support, query, config)
    one = players()
    losses = [objective(one, one.anonymiser, t, config)[0] for t in (support, query)]
    expected = torch.autograd.grad(sum(losses), [*one.anonymiser.parameters()])
    for g, e in zip(found, expected, strict=True):
        torch.testing.assert_close(g, e)


def test_the_update_is_plain_descent_and_touches_the_anonymiser_only() -> None:
    one, two = players(), players()
    found, _ = meta_gradient(two, task(1), task(2), CONFIG)
    meta_step(one, task(1), task(2), CONFIG)
    before = players()
    for p, q, g in zip(one.anonymiser.parameters(), before.anonymiser.parameters(), found,
                       strict=True):  # fmt: skip
        torch.testing.assert_close(p, q - 0.1 * g)
    for p, q in zip((one.action, *one.privacy), (before.action, *before.privacy), strict=True):
        for a, b in zip(p.parameters(), q.parameters(), strict=True):
            assert torch.equal(a, b)
            assert a.requires_grad


def test_batch_norms_count_the_support_set_and_not_the_virtual_step() -> None:
    one, two = players(), players()
    meta_gradient(one, task(1), task(2), CONFIG)
    objective(two, two.anonymiser, task(1), CONFIG)
    for (name, a), b in zip(one.anonymiser.named_buffers(), two.anonymiser.buffers(), strict=True):
        torch.testing.assert_close(a, b, msg=name)


# --- sets


def codes(n: int = 400, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    person = torch.randint(-1, 4, (n, 1), generator=generator)
    return torch.cat([person, torch.randint(-1, 2, (n, 2), generator=generator)], dim=1)


@pytest.mark.parametrize("seed", range(6))
def test_records_and_labels_are_divided_as_the_paper_says(seed: int) -> None:
    known = codes()
    generator = torch.Generator().manual_seed(seed)
    sets = attribute_sets(PRIVATE, known, 0.6, generator)
    one, two = sets.attributes, ~sets.attributes
    assert int(one.sum()) == 2  # 60 % of three
    rows = torch.cat([sets.first, sets.second])
    assert torch.equal(rows.sort().values, torch.arange(400))
    present = PRIVATE.present(known)
    only_one = present[:, one].any(1) & ~present[:, two].any(1)
    only_two = present[:, two].any(1) & ~present[:, one].any(1)
    inside = torch.zeros(400, dtype=torch.bool)
    inside[sets.first] = True
    assert inside[only_one].all()
    assert not inside[only_two].any()
    rest = ~only_one & ~only_two
    assert int(inside[rest].sum()) == round(0.6 * int(rest.sum()))
    # Each record keeps all of its own side's labels and none of the other's.
    assert torch.equal(sets.codes[sets.first][:, one], known[sets.first][:, one])
    assert torch.equal(sets.codes[sets.second][:, two], known[sets.second][:, two])
    assert (sets.codes[sets.first][:, two] == -1).all()
    assert (sets.codes[sets.second][:, one] == -1).all()


def test_attributes_and_models_are_divided_anew() -> None:
    generator = torch.Generator().manual_seed(0)
    drawn = {tuple(halves(5, 0.6, generator).tolist()) for _ in range(60)}
    assert {sum(d) for d in drawn} == {3}
    assert len(drawn) == 10  # all of 5 over 3
    for count in (2, 3, 8):
        one, two = model_sets(count, 0.6, generator)
        assert sorted((*one, *two)) == [*range(count)]
        assert min(len(one), len(two)) >= 1
    assert [len(s) for s in model_sets(8, 0.6, generator)] == [5, 3]


def test_rows_are_different_if_there_are_enough() -> None:
    generator = torch.Generator().manual_seed(0)
    assert sorted(draw_rows(torch.arange(5), 5, generator).tolist()) == [*range(5)]
    few = draw_rows(torch.tensor([7, 9]), 6, generator)
    assert len(few) == 6
    assert set(few.tolist()) <= {7, 9}


class Data:
    """What the sets are made of."""

    private = PRIVATE

    class train:
        x = torch.zeros(400, 4, 3, 6, 6, dtype=torch.uint8)
        action = torch.zeros(400, 1, dtype=torch.int64)
        private = codes()


def epoch_sets(**changes: Any) -> EpochSets:
    config = CONFIG.model_copy(update={"privacy_frames": 2} | changes)
    return EpochSets.draw(players(), Data, config, torch.Generator().manual_seed(3))  # type: ignore[arg-type]


def test_odd_steps_differ_in_attributes_and_even_steps_in_models() -> None:
    sets, generator = epoch_sets(), torch.Generator().manual_seed(0)
    rows = torch.arange(10)
    support, query = sets.tasks(1, rows, generator)
    assert support.models == query.models == (0, 1, 2)
    assert (len(support.x), len(query.x)) == (6, 4)
    assert not (support.shown.any(0) & query.shown.any(0)).any()
    support, query = sets.tasks(2, rows, generator)
    assert sets.models is not None
    assert (support.models, query.models) == sets.models
    assert support.shown.all()
    assert query.shown.all()


def test_random_sets_have_all_attributes_and_models() -> None:
    sets, generator = epoch_sets(sets="random"), torch.Generator().manual_seed(0)
    for step in (1, 2):
        support, query = sets.tasks(step, torch.arange(10), generator)
        assert support.models == query.models == (0, 1, 2)
        assert support.shown.all()
        assert query.shown.all()
        assert (len(support.x), len(query.x)) == (6, 4)


def test_with_one_attribute_there_are_model_different_sets_only() -> None:
    said = Recorder()
    fitted("meta", progress=said)
    assert (
        "'secret' is the only suppressed attribute: attribute-different sets need two" in said.text
    )
    single = Data()
    single.private = LabelHeads((Head("person", 4, multilabel=False),))  # type: ignore[misc]
    single.train = type("Part", (), {**vars(Data.train), "private": codes()[:, :1]})  # type: ignore[assignment,misc]
    sets = EpochSets.draw(players(), single, CONFIG, torch.Generator())  # type: ignore[arg-type]
    assert sets.attributes is None
    assert sets.models is not None


def test_sets_that_cannot_differ_are_refused() -> None:
    with pytest.raises(UserError, match="two suppressed attributes or two privacy_models"):
        fitted("meta", privacy_models=["mobilenet-v1:0.1"])


@pytest.mark.parametrize(
    "config", [{"sets": "random"}, {"sets": "joint"}, {"order": "first", "update": "sgd"}]
)
def test_the_ablations_train(config: dict[str, Any]) -> None:
    bundle = fitted("meta", suppress="secret,other", **config)
    assert {"query_suppress", "query_action"} <= set(bundle.history[-1])
