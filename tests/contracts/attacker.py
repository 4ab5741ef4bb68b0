"""What every attacker must do: meet the best accuracy that it can reach, and never exceed Bayes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from support import of_world
from withhold.audit.attackers.attacker import Attacker, FloatArray, Prediction
from withhold.audit.feature_views import FeatureViews
from withhold.audit.metrics import accuracy
from withhold.datasets.worlds import gaussian
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset


class Fitted:
    """An attacker fitted on train and val, asked about features as they are in the data."""

    def __init__(self, attacker: Attacker, data: Dataset, name: str, seed: int) -> None:
        train, val = data.part("train"), data.part("val")
        self.view, self.views = attacker.view, FeatureViews.of(train.x)
        self.prediction: Prediction = attacker.fit(
            self.views.see(self.view, train.x),
            train.attribute(name),
            self.views.see(self.view, val.x),
            val.attribute(name),
            seed=seed,
        )

    def logits(self, x: FloatArray) -> FloatArray:
        return self.prediction.logits(self.views.see(self.view, x))


class AttackerContract:
    """Inherit as `class TestMlp(AttackerContract)` and say how to `make` one.

    `linear` is for attackers that cannot see what only products of features show, `blind` for those
    that look at no feature at all. `way` is how far from the majority to Bayes it must come, and
    `whole` what it must read where everything leaks, `crowd` what of two hundred identities.
    """

    linear = False
    blind = False
    way = 0.95
    whole = 1.0
    crowd = 0.95

    def make(self) -> Attacker:
        raise NotImplementedError

    def make_brief(self) -> Attacker:
        """For a thousand classes, where what is asked is that it comes to an end, and no more."""
        return self.make()

    def fit(self, data: Dataset, name: str = "label", *, seed: int = 0) -> Fitted:
        return Fitted(self.make(), data, name, seed)

    def read(self, data: Dataset, name: str = "label", *, seed: int = 0) -> float:
        """The accuracy on test."""
        test = data.part("test")
        return accuracy(self.fit(data, name, seed=seed).logits(test.x), test.attribute(name))[0]

    def expect(self, found: float, least: float, *, by_chance: float) -> None:
        """At least so much; whoever is blind is at chance, in worlds where classes are even."""
        if self.blind:
            assert found == pytest.approx(by_chance, abs=0.06)
        else:
            assert found >= least

    # --- worlds with a known answer ---

    @pytest.mark.parametrize("classes", [2, 5])
    def test_where_nothing_leaks_the_interval_holds_the_majority(self, classes):
        """Of eight seeds at most two may miss: a 95 % interval misses more once in 170."""
        missed = 0
        for seed in range(8):
            data = of_world(gaussian.no_leak(1000, 6, classes, seed))
            test = data.part("test")
            log_p = self.fit(data, seed=seed).logits(test.x)
            low, high = accuracy(log_p, test.attribute("label"))[1]
            missed += not low <= 1 / classes <= high
        assert missed <= 2

    @pytest.mark.parametrize("classes", [2, 10])
    def test_where_everything_leaks_all_is_read(self, classes):
        found = self.read(of_world(gaussian.full_leak(2000, 16, classes)))
        self.expect(found, self.whole, by_chance=1 / classes)

    @pytest.mark.parametrize("classes", [2, 6])
    def test_bayes_is_met_and_not_exceeded(self, classes):
        if classes == 2:
            world = gaussian.two_attributes(
                4000, 12, separation_suppress=1.0, separation_preserve=2.0, seed=1
            )
        else:
            world = gaussian.many_classes(4000, 12, 6, separation=2.5, seed=1)
        self.meets_bayes(world, "secret" if classes == 2 else "label")

    def test_bayes_is_met_where_only_a_product_of_features_shows_it(self):
        world = gaussian.xor(4000, 6, separation=2.0, seed=2)
        if self.linear:
            assert self.read(of_world(world)) < 0.58
        else:
            self.meets_bayes(world, "label")

    def meets_bayes(self, world: gaussian.World, name: str) -> None:
        """So far on the way from the majority to Bayes; above Bayes by chance alone."""
        data = of_world(world)
        found, bayes = self.read(data, name), world.bayes[name]
        test = data.part("test").attribute(name)
        spread = np.sqrt(bayes * (1 - bayes) / len(test.codes))
        assert found <= bayes + 4 * spread
        # Two deviations: the figure is of 800 records drawn, not of the distribution.
        least = test.majority + self.way * (bayes - test.majority) - 2 * spread
        self.expect(found, least, by_chance=test.majority)

    def test_two_hundred_identities(self):
        data = identities(200, 20)
        self.expect(self.read(data), self.crowd, by_chance=1 / 200)

    def test_a_thousand_identities_of_few_records(self):
        """Read far above chance, or declined with a reason before anything is spent."""
        data = identities(1000, 10)
        attacker = self.make_brief()
        train, test = data.part("train"), data.part("test")
        declines = getattr(attacker, "declines", lambda n, d, k: None)
        why = declines(len(train), data.dimension, 1000)
        if why is not None:
            assert "1,000 classes" in why
            return
        assert attacker.cost(len(train), data.dimension, 1000) > 0
        logits = Fitted(attacker, data, "label", 0).logits(test.x)
        assert logits.shape == (2000, 1000)
        self.expect(accuracy(logits, test.attribute("label"))[0], 0.5, by_chance=1 / 1000)

    def test_few_records_of_a_loud_leak(self):
        found = self.read(of_world(gaussian.full_leak(200, 8, 4)))
        self.expect(found, 0.95 * self.whole, by_chance=0.25)

    # --- odd data ---

    def test_a_leak_in_a_small_feature_beside_large_ones(self):
        """An attacker that scales features by the largest of them sees nothing here."""
        rng = np.random.default_rng(0)
        label = np.tile([0, 1], 700)
        x = rng.standard_normal((1400, 6)) * 1e4
        x[:, 2] = 1e-4 * (4 * label + rng.uniform(-1, 1, 1400))
        x[:, 3] = 5.0  # and one that never moves
        x[:, 4] = 1e4 + 0.5 * rng.standard_normal(1400)
        self.expect(self.read(simple(x, label)), 0.97, by_chance=0.5)

    @pytest.mark.parametrize("value", [0.0, 1 / 3, -1e6])
    def test_constant_features_give_the_majority_and_no_more(self, value):
        label = np.random.default_rng(0).permutation((np.arange(600) % 10 < 3).astype(int))
        data = simple(np.full((600, 5), value), label)
        logits = self.fit(data).logits(data.part("test").x)
        assert set(logits.argmax(axis=1).tolist()) == {0}

    def test_missing_labels_are_masked(self):
        """The unlabelled half lies where the labels would be the other way round."""
        rng = np.random.default_rng(0)
        label = np.tile([0, 1], 600)
        known = rng.random(1200) < 0.5
        x = rng.standard_normal((1200, 6))
        x[:, 0] += 6 * np.where(known, label, 1 - label)
        data = simple(x, label, known)
        assert data.attribute("label").missing == int((~known).sum()) > 500
        test = data.part("test")
        # Only what is labelled is counted: the rest is coded -1.
        found, _ = accuracy(self.fit(data).logits(test.x), test.attribute("label"))
        self.expect(found, 0.97, by_chance=0.5)

    def test_without_labels_to_choose_by_it_still_attacks(self):
        """A val part that carries no label must not pass for a release that leaks nothing."""
        data = of_world(gaussian.full_leak(1000, 8, 3))
        blank = pa.array(data.table["label"].to_pylist(), mask=data.parts == "val")
        found = self.read(data.with_column("label", blank))
        self.expect(found, 0.97, by_chance=1 / 3)

    def test_a_class_that_train_never_saw_is_no_stumbling_block(self):
        rng = np.random.default_rng(0)
        label = rng.integers(0, 3, 900)
        parts = np.array(["train", "train", "val", "test"])[np.arange(900) % 4]
        parts[(label == 2) & (parts == "train")] = "test"
        x = np.eye(4)[label] * 8 + rng.standard_normal((900, 4))
        data = Dataset.from_arrays(x, {"label": label, "split": parts.tolist()})
        test = data.part("test")
        logits = self.fit(data).logits(test.x)
        assert logits.shape == (len(test), 3)
        assert np.isfinite(logits).all()
        codes = test.attribute("label").codes
        guess = logits.argmax(axis=1)
        assert set(guess.tolist()) <= {0, 1}  # nobody names whom they never met
        self.expect((guess == codes)[codes < 2].mean(), 0.97, by_chance=0.5)

    @pytest.mark.parametrize("of_val", ["alike", "both"])
    def test_one_class_only_in_train(self, of_val):
        """Then there is one thing to say; an attacker must not fall over what val and test hold."""
        label = np.arange(300) % 2
        parts = np.array(["train", "val", "test"])[np.arange(300) // 2 % 3]
        label[(parts == "train") | ((parts == "val") & (of_val == "alike"))] = 1
        x = np.random.default_rng(0).standard_normal((300, 3))
        data = Dataset.from_arrays(x, {"label": label, "split": parts.tolist()})
        logits = self.fit(data).logits(data.part("test").x)
        assert logits.shape == (100, 2)
        assert np.isfinite(logits).all()
        if of_val == "alike":  # else val may choose whom it likes best
            assert set(logits.argmax(axis=1).tolist()) == {1}

    def test_several_labels_at_once(self):
        rng = np.random.default_rng(0)
        on = rng.integers(0, 2, (1500, 3))
        x = rng.standard_normal((1500, 6))
        x[:, :2] += 6 * on[:, :2]  # the third does not show
        missing = rng.random((1500, 3)) < 0.2
        lists = [
            [None if gone else int(v) for v, gone in zip(row, lost, strict=True)]
            for row, lost in zip(on, missing, strict=True)
        ]
        data = Dataset.from_arrays(x, {"label": pa.array(lists), "split": by_turns(1500).tolist()})
        here = by_turns(1500) == "test"
        logits = self.fit(data).logits(data.x[here])
        assert logits.shape == (int(here.sum()), 3)
        assert np.isfinite(logits).all()
        right = ((logits > 0) == (on[here] == 1)).mean(axis=0)
        self.expect(right[:2].min(), 0.97, by_chance=0.5)
        assert right[2] == pytest.approx(0.5, abs=0.1)

    # --- the same question has the same answer ---

    def test_the_seed_decides(self):
        data = of_world(gaussian.many_classes(600, 8, 4, separation=2.0))
        test = data.part("test").x
        one, two = (self.fit(data, seed=5).logits(test) for _ in range(2))
        assert np.array_equal(one, two)

    def test_logits_have_a_row_a_record_and_a_column_a_class(self):
        data = of_world(gaussian.many_classes(500, 8, 4, separation=2.0))
        x, codes = data.x.copy(), data.attribute("label").codes.copy()
        fitted = self.fit(data)
        whole = fitted.logits(data.x)
        assert whole.shape == (500, 4)
        assert np.isfinite(whole).all()
        # Whoever else is asked about changes nothing.
        alone = np.concatenate([fitted.logits(data.x[i : i + 1]) for i in range(5)])
        assert np.allclose(alone, whole[:5], atol=1e-4)
        # And what was given is as it was.
        assert np.array_equal(data.x, x)
        assert np.array_equal(data.attribute("label").codes, codes)

    def test_relabelling_the_classes_only_renames_the_answers(self):
        data = of_world(gaussian.many_classes(2000, 8, 4, separation=4.0))
        names = {"0": "zebra", "1": "ant", "2": "mole", "3": "bee"}
        values = [names[v] for v in data.table["label"].to_pylist()]
        other = data.with_column("label", pa.array(values))
        test = data.part("test")
        one = answers(self.fit(data), test.x, data.attribute("label"))
        two = answers(self.fit(other), test.x, other.attribute("label"))
        if self.blind:  # of equal shares either may be named
            assert len(set(one)) == len(set(two)) == 1
        else:
            assert np.mean([names[a] == b for a, b in zip(one, two, strict=True)]) > 0.96

    def test_the_order_of_the_features_tells_nothing(self):
        data = of_world(gaussian.many_classes(2000, 8, 4, separation=4.0))
        order = np.random.default_rng(0).permutation(8)
        other = data.with_features(data.x[:, order])
        test = data.part("test")
        one = answers(self.fit(data), test.x, data.attribute("label"))
        two = answers(self.fit(other), test.x[:, order], data.attribute("label"))
        assert np.mean([a == b for a, b in zip(one, two, strict=True)]) > 0.96


def answers(fitted: Fitted, x: FloatArray, attribute: Attribute) -> list[str]:
    """The class it would name for each record."""
    return [attribute.classes[i] for i in fitted.logits(x).argmax(axis=1)]


def identities(people: int, records: int) -> Dataset:
    """People far apart in 64 dimensions; of ten records seven are train, one val, two test."""
    rng = np.random.default_rng(0)
    who = np.tile(np.arange(people), records)
    x = rng.standard_normal((people, 64))[who] + 0.3 * rng.standard_normal((len(who), 64))
    turns = np.array(["train"] * 7 + ["val"] + ["test"] * 2)
    parts = turns[np.arange(len(who)) // people % 10]
    return Dataset.from_arrays(x, {"label": who, "split": parts.tolist()})


def simple(x, label, known=None) -> Dataset:
    """A dataset of one attribute, `label`, split in train, val and test by turns."""
    column = pa.array(label, mask=None if known is None else ~known)
    return Dataset.from_arrays(x, {"label": column, "split": by_turns(len(x)).tolist()})


def by_turns(n: int) -> np.ndarray:
    return np.array(["train", "train", "train", "val", "test"])[np.arange(n) // 10 % 5]
