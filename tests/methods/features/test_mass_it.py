"""`mass-it`: limits in bits, players that learn along, and what a retrained attacker reads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from methods.features.trained_method import (
    QuickFit,
    TrainedMethodContract,
    assert_each_record_by_itself,
    random_records,
)
from support import TINY, Recorder, codes, mixed, of_world
from withhold.core.errors import UserError
from withhold.datasets.worlds import two_attributes
from withhold.learn.nets.attribute_net import AttributeNet
from withhold.learn.nets.device import threads
from withhold.learn.nets.generator import GeneratorNet
from withhold.learn.nets.perceptron import folded, unit
from withhold.learn.nets.space import Space
from withhold.learn.training import initialise
from withhold.methods import read_config
from withhold.methods.features.mass_it import MassItConfig, MassItLimits, MassItModifier, limits_of
from withhold.methods.features.mass_it.limits import mean_conditional, mean_entropy
from withhold.methods.features.mass_it.mass_it_players import MassItPlayers, MassItTarget
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.feasibility import conditional_entropy
from withhold.records.roles import Roles

QUICK: dict[str, Any] = {
    "hidden": [8],
    "critic": [8, 4],
    "epochs": 3,
    "batch": 32,
    "attribute_model": TINY["attribute_model"],
}


fit = QuickFit("mass-it", QUICK)


class TestMassIt(TrainedMethodContract):
    fit = fit
    stages = ("attribute model secret", "attribute model colour", "generator")


# --- limits -----------------------------------------------------------------------------------


def limits(
    data: Dataset, suppress: str = "secret", preserve: str = "useful", **c: Any
) -> MassItLimits:
    return limits_of(data.part("train"), Roles.of(suppress, preserve), MassItConfig(**c))


def world(correlation: float = 0.0) -> Dataset:
    """Labels are dealt, so that entropies are known to the record."""
    return of_world(
        two_attributes(
            2000, 4, separation_suppress=1, separation_preserve=1, correlation=correlation
        )
    )


# H(U|S) of two fair coins that agree with probability 0.9
NINE = -0.9 * math.log2(0.9) - 0.1 * math.log2(0.1)


def test_independent_attributes_can_be_kept_whole() -> None:
    found = limits(world(), kept_share=1.0)
    assert found.entropy == pytest.approx({"secret": 1.0, "useful": 1.0}, abs=1e-4)
    assert found.most_leaked == {"secret": 0.0}
    assert found.least_kept == pytest.approx({"useful": 1.0}, abs=1e-4)


def test_of_a_correlated_one_what_the_secret_does_not_tell() -> None:
    assert limits(world(0.8), kept_share=1.0).least_kept["useful"] == pytest.approx(NINE, abs=1e-3)
    half = limits(world(0.8), kept_share=0.5, most_leaked=0.1).least_kept["useful"]
    assert half == pytest.approx(0.5 * (0.1 + NINE), abs=1e-3)
    # and never more than there is
    assert limits(world(0.8), kept_share=1.0, most_leaked=0.9).least_kept[
        "useful"
    ] == pytest.approx(1.0, abs=1e-4)


def test_of_several_suppressed_the_hardest_decides() -> None:
    data = world(0.8)
    coin = pa.array([str(i % 2) for i in range(len(data))])
    data = data.with_column("coin", coin)
    found = limits(data, "coin,secret", kept_share=1.0).least_kept["useful"]
    assert found == pytest.approx(NINE, abs=1e-3)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"most_leaked": -0.25},
            r"'most_leaked' of attribute 'secret' is -0\.250 bits; it must be 0 or more",
        ),
        ({"most_leaked": {"secret": -1.0}}, r"attribute 'secret' is -1\.000 bits"),
        (
            {"least_kept": -0.1},
            r"'least_kept' of attribute 'useful' is -0\.100 bits; it must be 0 or more",
        ),
        (
            {"least_kept": 1.5, "most_leaked": 1.0},
            r"'least_kept' of attribute 'useful' is 1\.500 bits, but 'useful' has only 1\.000",
        ),
        (
            {"least_kept": 0.9},
            r"'useful' is 0\.900 bits, but if at most 0\.000 bits of 'secret' leak, no release"
            r".*more than 0\.469 bits.*set it to 0\.46[89] or less, or 'most_leaked' of 'secret'"
            r" to 0\.43\d or more",
        ),
        ({"least_kept": {"usefull": 0.1}}, r"'usefull'.*did you mean 'useful'\?"),
    ],
)
def test_what_no_release_can_meet_is_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        limits(world(0.8), **config)


def test_a_refusal_comes_before_any_training_and_its_advice_is_taken() -> None:
    data, said = world(0.8), Recorder()
    with pytest.raises(UserError, match="set it to") as refused:
        fit(data, preserve="useful", progress=said, least_kept=0.9)
    assert not said.steps
    text = str(refused.value)
    kept = float(text.split("set it to ")[1].split()[0])
    leaked = float(text.split("'most_leaked' of 'secret' to ")[1].split()[0])
    assert limits(data, least_kept=kept).least_kept == {"useful": kept}
    assert limits(data, least_kept=0.9, most_leaked=leaked).least_kept == {"useful": 0.9}


def test_the_limits_are_told_in_bits() -> None:
    said = Recorder()
    fit(world(), preserve="useful", progress=said, epochs=1, batch=500)
    assert "at most 0.000 of 1.000 bits of 'secret'" in said.text
    assert "at least 0.900 of 1.000 bits of 'useful'" in said.text


def test_limits_as_number_list_and_mapping() -> None:
    data, roles = mixed().part("train"), Roles.of("secret,tags", "colour")
    for given, expected in (
        (0.1, {"secret": 0.1, "tags": 0.1}),
        ((0.1, 0.2), {"secret": 0.1, "tags": 0.2}),
        ({"tags": 0.2}, {"secret": 0.0, "tags": 0.2}),
    ):
        assert limits_of(data, roles, MassItConfig(most_leaked=given)).most_leaked == expected


def test_entropies_of_several_labels_are_means_over_them() -> None:
    """A fair coin known of 4 records, and one of 1 in 4 known of 8 (of which 2 are on)."""
    on = np.array([[0, 0], [0, 0], [1, 0], [1, 0], [-1, 0], [-1, 0], [-1, 1], [-1, 1]])
    tags = Attribute("tags", "multilabel", ("a", "b"), on)
    quarter = -0.25 * math.log2(0.25) - 0.75 * math.log2(0.75)
    assert mean_entropy(tags) == pytest.approx((4 * 1 + 8 * quarter) / 12)
    other = Attribute("other", "categorical", ("0", "1"), on[:, 1])
    # The second label is `other` itself; the first is a coin beside a constant.
    assert mean_conditional(tags, other) == pytest.approx((4 * 1 + 8 * 0) / 12)
    first = Attribute("first", "categorical", ("0", "1"), on[:, 0])
    pairs = [conditional_entropy(other, first), conditional_entropy(other, other)]
    assert mean_conditional(other, tags) == pytest.approx((4 * pairs[0] + 8 * pairs[1]) / 12)


# --- the players ------------------------------------------------------------------------------


def play(
    *, suppress: bool
) -> tuple[MassItPlayers, MassItTarget, torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x, noise = (unit(torch.randn(40, 5, generator=generator)) for _ in range(2))
    attribute = Attribute("a", "categorical", ("0", "1"), np.arange(40) % 2)
    model = AttributeNet(5, 2, (6,))
    initialise(model, 0)
    target = MassItTarget(
        attribute, torch.device("cpu"), weight=3.0, suppress=suppress, entropy_bits=1.2,
        limit_bits=0.0 if suppress else 1.2,
    )  # fmt: skip
    players = MassItPlayers(5, [model], MassItConfig(hidden=(7,), critic=(4,)), seed=0)
    return players, target, x, noise, torch.arange(40)


@pytest.mark.parametrize("suppress", [True, False])
def test_one_pass_gives_the_gradients_of_two(suppress: bool) -> None:
    """The generator follows the penalty, the model its own cross-entropy and nothing else."""
    players, target, x, noise, rows = play(suppress=suppress)
    config = MassItConfig(agnostic=0)
    losses = players.backward(x, noise, rows, [target], config)
    model = players.models[0]
    mine = [*players.generator.parameters()]
    found = [p.grad.clone() for p in [*mine, *model.parameters()] if p.grad is not None]

    x_new = players.generator(x, noise)
    penalty = target.penalty(target.cross_entropy(model(x_new)[1], rows))
    expected = [*torch.autograd.grad(penalty, mine)]
    own = target.cross_entropy(model(x_new.detach())[1], rows)
    expected += torch.autograd.grad(own, [*model.parameters()])
    assert losses["a"].item() == pytest.approx(penalty.item(), abs=1e-6)
    assert penalty.item() > 0
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two, atol=1e-6, rtol=1e-4)


def test_bits_become_nats() -> None:
    _, target, *_ = play(suppress=False)
    assert target.entropy == target.limit == pytest.approx(1.2 * math.log(2))
    even = target.cross_entropy(torch.zeros(40, 2), torch.arange(40))
    assert even.item() == pytest.approx(math.log(2))


def test_the_critics_do_not_begin_alike() -> None:
    players, *_ = play(suppress=True)
    one, two = (next(critic.parameters()) for critic in players.critics)
    assert not torch.equal(one, two)


# --- bytes and noise ----------------------------------------------------------------------


def modifier_of(d: int, *, sphere: bool, key: bytes = b"key") -> tuple[MassItModifier, Any]:
    """An untrained modifier of the default widths, and records for it."""
    x = random_records(d, sphere=sphere)
    network = GeneratorNet(d)
    initialise(network, 0)
    z = unit(torch.from_numpy(x))
    network(z, torch.randn(z.shape, generator=torch.Generator().manual_seed(0)))
    return MassItModifier(folded(network.eval().network), Space.of(x), key), x


@pytest.mark.parametrize("sphere", [True, False])
@pytest.mark.parametrize("d", [3, 20, 64, 257])
def test_how_the_data_is_cut_or_ordered_does_not_change_a_bit(d: int, sphere: bool) -> None:
    assert_each_record_by_itself(*modifier_of(d, sphere=sphere))


def test_the_noise_belongs_to_the_record_and_the_key() -> None:
    (one, x), (two, _) = modifier_of(20, sphere=True), modifier_of(20, sphere=True, key=b"other")
    moved = np.abs(one.transform(x) - two.transform(x)).max(axis=1)
    assert (moved > 0).all()
    twice = one.transform(np.concatenate([x[:5], x[:5]]))
    np.testing.assert_array_equal(twice[:5], twice[5:])


def test_unit_vectors_stay_unit_vectors() -> None:
    modifier, x = modifier_of(20, sphere=True)
    np.testing.assert_allclose(np.linalg.norm(modifier.transform(x), axis=1), 1, atol=1e-5)


# --- settings ---------------------------------------------------------------------------------


def test_settings_survive_json() -> None:
    config = read_config("mass-it", {"most_leaked": {"s": 0.1}, "least_kept": [0.5]})
    assert read_config("mass-it", config.model_dump(mode="json")) == config
    with pytest.raises(UserError, match=r"no setting 'most_leakd'; did you mean 'most_leaked'\?"):
        read_config("mass-it", {"most_leakd": 0})


# --- what it can do ---------------------------------------------------------------------------


def informed(modifier: MassItModifier, data: Dataset, name: str) -> float:
    """Test accuracy of a network trained on the release."""
    train, test = data.part("train"), data.part("test")
    model = make_pipeline(
        StandardScaler(), MLPClassifier((32,), early_stopping=True, random_state=0)
    )
    model.fit(modifier.transform(train.x), codes(train, name))
    return float(model.score(modifier.transform(test.x), codes(test, name)))


def suppressed(**config: Any) -> dict[str, float]:
    """What a retrained attacker reads in a Gaussian world (Bayes: 0.994 for both)."""
    with threads(1):
        data = of_world(
            two_attributes(2000, 8, separation_suppress=2.5, separation_preserve=2.5, seed=0)
        )
        small: dict[str, Any] = {
            "hidden": [32, 16, 32], "critic": [32, 16], "epochs": 80, "batch": 128,
            "learning_rate": 2e-3, "adversary_pace": 3,
            "attribute_model": {"hidden": [32, 16], "epochs": 10, "batch": 128},
        }  # fmt: skip
        modifier = fit(data, preserve="useful", **(small | config)).modifier
        assert isinstance(modifier, MassItModifier)
        return {name: informed(modifier, data, name) for name in ("secret", "useful")}


@pytest.mark.slow
def test_a_retrained_attacker_reads_little_and_the_useful_stays() -> None:
    found = suppressed()
    assert found["secret"] < 0.68
    assert found["useful"] > 0.93


def test_with_a_limit_as_wide_as_the_attribute_nothing_is_hidden() -> None:
    """m = 1 bit of a fair coin: its penalty is never paid, and the agnostic term keeps it."""
    assert suppressed(most_leaked=1.0, agnostic=1.0)["secret"] > 0.85
