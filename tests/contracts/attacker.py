"""What every attacker must do: meet the best accuracy anyone can reach, and never exceed it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from support import of_world
from withhold.attribute import Attribute, encode
from withhold.audit.attackers.attacker import Attacker, FloatArray, Prediction
from withhold.audit.metrics import Score, score
from withhold.data.worlds import gaussian
from withhold.dataset import Dataset
from withhold.progress import Silent


class AttackerContract:
    """Inherit as `class TestMlp(AttackerContract)` and say how to `make` one.

    `linear` is for attackers that cannot see what only products of features show.
    """

    linear = False

    def make(self) -> Attacker:
        raise NotImplementedError

    def fit(self, data: Dataset, name: str = "label", *, seed: int = 0) -> Prediction:
        train, val = data.part("train"), data.part("val")
        return self.make().fit(
            train.x,
            train.attribute(name),
            val.x,
            val.attribute(name),
            seed=seed,
            progress=Silent(),
        )

    def read(self, data: Dataset, name: str = "label", *, seed: int = 0) -> Score:
        test = data.part("test")
        return score(self.fit(data, name, seed=seed).logits(test.x), test.attribute(name))

    # --- worlds with a known answer ---

    @pytest.mark.parametrize("classes", [2, 5])
    def test_where_nothing_leaks_the_interval_holds_the_majority(self, classes):
        """Of six seeds at most one may miss: a 95 % interval misses two in six once in 30."""
        missed = 0
        for seed in range(6):
            found = self.read(of_world(gaussian.no_leak(2000, 12, classes, seed)), seed=seed)
            missed += not found.ci[0] <= 1 / classes <= found.ci[1]
        assert missed <= 1

    @pytest.mark.parametrize("classes", [2, 10])
    def test_where_everything_leaks_all_is_read(self, classes):
        found = self.read(of_world(gaussian.full_leak(3000, 24, classes)))
        assert found.accuracy == 1.0
        assert found.ci[1] == 1.0

    @pytest.mark.parametrize(
        ("world", "name"),
        [
            (gaussian.two_attributes, "secret"),
            (gaussian.many_classes, "label"),
        ],
    )
    def test_bayes_is_met(self, world, name):
        if world is gaussian.many_classes:
            made = world(8000, 20, 6, separation=2.5, seed=1)
        else:
            made = world(8000, 20, separation_suppress=1.0, separation_preserve=2.0, seed=1)
        self.meets_bayes(made, name)

    def test_bayes_is_met_where_only_a_product_of_features_shows_it(self):
        world = gaussian.xor(8000, 8, separation=2.0, seed=2)
        if self.linear:
            assert self.read(of_world(world)).accuracy < 0.6
        else:
            self.meets_bayes(world, "label")

    def meets_bayes(self, world: gaussian.World, name: str) -> None:
        """95 % of the way from the majority to Bayes; above Bayes by chance alone."""
        data = of_world(world)
        found, bayes = self.read(data, name), world.bayes[name]
        test = data.part("test").attribute(name)
        spread = np.sqrt(bayes * (1 - bayes) / len(test.codes))
        least = test.majority + 0.95 * (bayes - test.majority)
        # Two deviations: the figure is of 1,600 records drawn, not of the distribution.
        assert least - 2 * spread <= found.accuracy <= bayes + 4 * spread

    def test_two_hundred_identities(self):
        rng = np.random.default_rng(0)
        who = np.tile(np.arange(200), 40)
        centres = rng.standard_normal((200, 32))
        x = centres[who] + 0.25 * rng.standard_normal((len(who), 32))
        parts = np.repeat(["train", "val", "test"], [24 * 200, 8 * 200, 8 * 200])
        columns = {"label": who, "split": parts.tolist()}
        assert self.read(Dataset.from_arrays(x, columns)).accuracy > 0.98

    def test_few_records_of_a_loud_leak(self):
        found = self.read(of_world(gaussian.full_leak(200, 8, 4)))
        assert found.accuracy >= 0.95

    # --- odd data ---

    def test_a_leak_in_a_small_feature_beside_large_ones(self):
        """An attacker that scales features by the largest of them sees nothing here."""
        rng = np.random.default_rng(0)
        label = rng.integers(0, 2, 2000)
        x = rng.standard_normal((2000, 6)) * 1e4
        x[:, 2] = 1e-4 * (4 * label + rng.uniform(-1, 1, 2000))
        x[:, 3] = 5.0  # and one that never moves
        x[:, 4] = 1e4 + 0.5 * rng.standard_normal(2000)
        assert self.read(simple(x, label)).accuracy == pytest.approx(1, abs=0.01)

    @pytest.mark.parametrize("value", [0.0, 1 / 3, -1e6])
    def test_constant_features_give_the_majority_and_no_more(self, value):
        label = (np.arange(600) % 10 < 3).astype(int)
        found = self.read(simple(np.full((600, 5), value), label))
        assert found.accuracy == pytest.approx(0.7, abs=0.01)
        assert found.balanced_accuracy == pytest.approx(0.5)

    def test_missing_labels_are_masked(self):
        """The unlabelled half lies where the labels would be the other way round."""
        rng = np.random.default_rng(0)
        label = rng.integers(0, 2, 2000)
        known = rng.random(2000) < 0.5
        x = rng.standard_normal((2000, 6))
        x[:, 0] += 6 * np.where(known, label, 1 - label)
        data = simple(x, label, known)
        found = self.fit(data).logits(data.x[known])
        assert (found.argmax(axis=1) == label[known]).mean() > 0.98
        assert data.attribute("label").missing == int((~known).sum())

    def test_without_labels_to_choose_by_it_still_attacks(self):
        """A val part that carries no label must not pass for a release that leaks nothing."""
        data = of_world(gaussian.full_leak(1000, 8, 3))
        blank = [
            None if p == "val" else v
            for v, p in zip(data.table["label"].to_pylist(), data.parts, strict=True)
        ]
        assert self.read(data.with_column("label", pa.array(blank))).accuracy > 0.99

    def test_a_class_that_train_never_saw_is_no_stumbling_block(self):
        rng = np.random.default_rng(0)
        label = rng.integers(0, 3, 900)
        parts = np.array(["train", "train", "val", "test"])[np.arange(900) % 4]
        parts[(label == 2) & (parts == "train")] = "test"
        x = np.eye(4)[label] * 8 + rng.standard_normal((900, 4))
        data = Dataset.from_arrays(x, {"label": label, "split": parts.tolist()})
        test = data.part("test")
        guess = self.fit(data).logits(test.x).argmax(axis=1)
        seen = test.attribute("label").codes < 2
        assert (guess[seen] == test.attribute("label").codes[seen]).mean() > 0.98

    def test_several_labels_at_once(self):
        rng = np.random.default_rng(0)
        on = rng.integers(0, 2, (2000, 3))
        x = rng.standard_normal((2000, 8))
        x[:, :2] += 6 * on[:, :2]  # the third does not show
        data = Dataset.from_arrays(
            x, {"label": pa.array(on.tolist()), "split": thirds(2000).tolist()}
        )
        test = data.part("test")
        logits = self.fit(data).logits(test.x)
        right = ((logits > 0) == (test.attribute("label").codes == 1)).mean(axis=0)
        assert right[:2].min() > 0.98
        assert right[2] == pytest.approx(0.5, abs=0.08)

    # --- the same question has the same answer ---

    def test_the_seed_decides(self):
        data = of_world(gaussian.many_classes(1000, 8, 4, separation=2.0))
        test = data.part("test").x
        one, two = (self.fit(data, seed=5).logits(test) for _ in range(2))
        assert np.array_equal(one, two)

    def test_logits_have_a_row_a_record_and_a_column_a_class(self):
        data = of_world(gaussian.many_classes(500, 8, 4, separation=2.0))
        fitted = self.fit(data)
        whole = fitted.logits(data.x)
        assert whole.shape == (500, 4)
        assert np.isfinite(whole).all()
        # Whoever else is asked about changes nothing.
        alone = np.concatenate([fitted.logits(data.x[i : i + 1]) for i in range(5)])
        assert np.allclose(alone, whole[:5], atol=1e-4)

    def test_relabelling_the_classes_only_renames_the_answers(self):
        data = of_world(gaussian.many_classes(4000, 12, 4, separation=3.0))
        names = {"0": "zebra", "1": "ant", "2": "mole", "3": "bee"}
        values = [names[v] for v in data.table["label"].to_pylist()]
        other = data.with_column("label", pa.array(values))
        test = data.part("test")
        one = answers(self.fit(data), test.x, data.attribute("label"))
        two = answers(self.fit(other), test.x, other.attribute("label"))
        assert np.mean([names[a] == b for a, b in zip(one, two, strict=True)]) > 0.96

    def test_it_leaves_its_inputs_alone(self):
        data = of_world(gaussian.many_classes(500, 8, 4, separation=2.0))
        x, codes = data.x.copy(), data.attribute("label").codes.copy()
        self.fit(data).logits(data.x)
        assert np.array_equal(data.x, x)
        assert np.array_equal(data.attribute("label").codes, codes)


def answers(fitted: Prediction, x: FloatArray, attribute: Attribute) -> list[str]:
    """The class it would name for each record."""
    return [attribute.classes[i] for i in fitted.logits(x).argmax(axis=1)]


def simple(x, label, known=None) -> Dataset:
    """A dataset of one attribute, `label`, split in train, val and test by turns."""
    column = pa.array(label, mask=None if known is None else ~known)
    assert encode("label", column, "t").codes.max() == label.max()
    return Dataset.from_arrays(x, {"label": column, "split": thirds(len(x)).tolist()})


def thirds(n: int) -> np.ndarray:
    return np.array(["train", "train", "train", "val", "test"])[np.arange(n) // 10 % 5]
