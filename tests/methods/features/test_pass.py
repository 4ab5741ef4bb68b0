"""`pass`: substitutes drawn evenly within every suppressed class, with the useful labels kept."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
import torch
from sklearn.neural_network import MLPClassifier

from methods.features.trained_method import (
    QuickFit,
    TrainedMethodContract,
    assert_each_record_by_itself,
    random_records,
    terms,
)
from support import Recorder, codes, mixed, of_world
from withhold.core.errors import UserError
from withhold.datasets.worlds import two_attributes
from withhold.learn.nets.device import threads
from withhold.learn.nets.perceptron import folded, unit
from withhold.learn.nets.space import Space
from withhold.methods import Channel, read_config
from withhold.methods.features.pass_ import PassModifier
from withhold.methods.features.pass_.fit import choose
from withhold.methods.features.pass_.substitute_net import SubstituteNet
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

QUICK: dict[str, Any] = {
    "candidates": 20,
    "hidden": [8],
    "embedding": 6,
    "epochs": 3,
    "batch": 32,
}


fit = QuickFit("pass", QUICK)


class TestPass(TrainedMethodContract):
    fit = fit
    stages = ("channel",)
    without_terms: ClassVar[set[str]] = {"nothing"}


def test_the_paper_has_no_nearness_and_it_can_be_switched_on() -> None:
    assert terms(fit(nearness=1)) == {"agnostic", "nearness", "secret", "colour"}


# --- candidates -------------------------------------------------------------------------------


def test_the_release_is_made_of_training_records() -> None:
    data = mixed()
    modifier = fit(data).modifier
    train = {row.tobytes() for row in data.part("train").x}
    assert {row.tobytes() for row in modifier.transform(data.x)} <= train
    assert isinstance(modifier, Channel)
    assert len(modifier.codes) == 20


def test_there_are_no_more_candidates_than_training_records() -> None:
    data = mixed()
    modifier = fit(data, candidates=5000).modifier
    assert isinstance(modifier, PassModifier)
    np.testing.assert_array_equal(modifier.codes, data.part("train").x)


def test_candidates_carry_every_preserved_label() -> None:
    train = mixed().part("train")
    chosen = choose(train, Roles.of("colour", "secret,tags"), 1000, seed=0).numpy()
    known = train.attribute("secret").known & train.attribute("tags").known
    np.testing.assert_array_equal(chosen, np.flatnonzero(known))
    assert len(chosen) < len(train)


def test_that_people_are_published_is_said() -> None:
    said = Recorder()
    fit(progress=said)
    assert "pass releases unchanged training records" in said.text
    assert "no candidate" not in said.text


def test_a_class_without_candidate_is_said() -> None:
    data, said = mixed(), Recorder()
    train = np.flatnonzero(np.asarray(data.parts) == "train")
    colour = np.full(len(data), "common", dtype=object)
    colour[train[:2]] = "rare"
    rare = Dataset.from_arrays(
        data.x,
        {"secret": data.table["secret"], "colour": colour.tolist(), "split": data.table["split"]},
    )
    fit(rare, candidates=5, progress=said)
    assert "attribute 'colour': 1 of 2 classes have no candidate (rare)" in said.text


# --- the channel ---------------------------------------------------------------------------


def modifier_of(d: int, count: int) -> tuple[PassModifier, npt.NDArray[np.float32]]:
    """An untrained channel, and records for it."""
    x = random_records(d)
    space = Space.of(x)
    net = SubstituteNet(space.enter(torch.from_numpy(x[:count])), (30, 20), 9, 0.1, seed=0)
    table = unit(net.table.detach())
    embed = folded(net.eval().embed)
    return PassModifier(x[:count], b"key", embed, table, space, temperature=0.1), x


@pytest.mark.parametrize(("d", "count"), [(3, 2), (20, 33), (64, 300), (130, 600)])
def test_how_the_data_is_cut_or_ordered_does_not_change_a_bit(d: int, count: int) -> None:
    assert_each_record_by_itself(*modifier_of(d, count))


def test_the_channel_is_the_softmax_of_cosines() -> None:
    modifier, x = modifier_of(20, 33)
    with torch.no_grad():
        z = unit(modifier.embed(modifier.space.enter(torch.from_numpy(x))))
        expected = (z @ modifier.embeddings.T / 0.1).softmax(dim=1).numpy()
    found = modifier.probabilities(x)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)


def test_draws_follow_the_channel_and_come_by_pieces() -> None:
    """More records than are held at once: how often each is drawn, against how often it should."""
    modifier, _ = modifier_of(20, 33)
    x = np.random.default_rng(1).standard_normal((5000, 20)).astype(np.float32)
    drawn = np.bincount(modifier.draw(x), minlength=33)
    expected = modifier.probabilities(x).sum(axis=0)
    spread = np.sqrt(np.maximum(expected, 1))
    assert (np.abs(drawn - expected) < 5 * spread).all()
    assert len(modifier.draw(x[:0])) == 0


# --- settings ---------------------------------------------------------------------------------


def test_settings_survive_json() -> None:
    config = read_config("pass", {"suppression": {"s": 0.1}, "preservation": [0.5]})
    assert read_config("pass", config.model_dump(mode="json")) == config
    with pytest.raises(UserError, match=r"'candidates' of method 'pass'.*greater than or equal"):
        read_config("pass", {"candidates": 1})


# --- what it does -----------------------------------------------------------------------------


class Substituted:
    """A Gaussian world (Bayes: 0.994 for both) in which `secret` was suppressed."""

    def __init__(self, **config: Any) -> None:
        data = of_world(
            two_attributes(2000, 8, separation_suppress=2.5, separation_preserve=2.5, seed=0)
        )
        small: dict[str, Any] = {
            "candidates": 100, "hidden": [32], "embedding": 16, "epochs": 40, "batch": 200,
        }  # fmt: skip
        made = fit(data, preserve="useful", **(small | config)).modifier
        assert isinstance(made, PassModifier)
        self.modifier = made
        self.train, self.test = data.part("train"), data.part("test")
        self.w = made.probabilities(self.test.x)

    def informed(self, name: str) -> float:
        """Test accuracy of a network trained on the release."""
        model = MLPClassifier((32,), early_stopping=True, random_state=0)
        model.fit(self.modifier.transform(self.train.x), codes(self.train, name))
        return float(model.score(self.modifier.transform(self.test.x), codes(self.test, name)))

    def shares(self, label: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """P(j | class) of the test records: (classes, N)."""
        return np.stack([self.w[label == c].mean(axis=0, dtype=np.float64) for c in (0, 1)])

    def apart(self, label: npt.NDArray[np.int64]) -> float:
        """Total variation between the classes; who sees the candidate is right 1/2 + half of it."""
        one, two = self.shares(label)
        return float(0.5 * np.abs(one - two).sum())


@pytest.fixture(scope="module")
def substituted() -> Substituted:
    with threads(1):
        return Substituted()


def test_the_candidates_shares_are_alike_in_both_classes(substituted: Substituted) -> None:
    """But for chance, which is what a coin shows that has nothing to do with the records."""
    secret = codes(substituted.test, "secret")
    coins = [np.random.default_rng(seed).permutation(secret) for seed in range(20)]
    by_chance = np.mean([substituted.apart(coin) for coin in coins])
    assert substituted.apart(secret) < by_chance + 0.1
    assert by_chance < 0.35


def test_every_candidate_is_used(substituted: Substituted) -> None:
    for share in substituted.shares(codes(substituted.test, "secret")):
        assert np.exp(-(share * np.log(share)).sum()) > 60  # of 100 candidates


def test_the_useful_label_decides_the_candidate(substituted: Substituted) -> None:
    assert substituted.apart(codes(substituted.test, "useful")) > 0.9


def test_a_retrained_attacker_reads_little_and_the_useful_stays(substituted: Substituted) -> None:
    assert substituted.informed("secret") < 0.6
    assert substituted.informed("useful") > 0.95


def test_without_the_suppression_term_the_secret_stays() -> None:
    """The control: what hides it is that term, and not the substitution."""
    with threads(1):
        kept = Substituted(suppression=0, nearness=5)
        assert kept.informed("secret") > 0.9
        assert kept.apart(codes(kept.test, "secret")) > 0.8
