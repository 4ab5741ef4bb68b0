"""Convolutional attackers: what they read, on images whose answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch

from audit.pictures import bars, channels_first, labelled, parts
from contracts.attacker import Fitted, by_turns, simple
from withhold.audit.attackers import Logistic, PixelCnn, PixelCnnDeep
from withhold.audit.attackers import pixel_cnn as module
from withhold.audit.attackers.pixel_cnn import shifted
from withhold.audit.metrics import accuracy
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset

TINY = PixelCnn(width=8, images=6_000, most_epochs=12, batch=16)


@pytest.fixture(autouse=True)
def _one_thread():
    """As in an audit."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def fit(images, data: Dataset, attacker: PixelCnn = TINY, seed: int = 0):
    label = data.attribute("label")
    train, val = (data.parts == part for part in ("train", "val"))
    return attacker.fit(images[train], label.rows(train), images[val], label.rows(val), seed=seed)


def read(images, data: Dataset, attacker: PixelCnn = TINY, seed: int = 0) -> float:
    test = data.parts == "test"
    scores = fit(images, data, attacker, seed).logits(images[test])
    return accuracy(scores, data.attribute("label").rows(test))[0]


def stripes(classes: int, n: int, side: int = 16, seed: int = 0):
    """Class c is a bright stripe at height c, under noise."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, classes, n)
    images = rng.integers(0, 80, (n, 3, side, side), dtype=np.uint8)
    high = side // classes
    for image, c in zip(images, label, strict=True):
        image[:, c * high : (c + 1) * high] += 100
    return images, label


def test_an_arrangement_that_no_linear_reader_sees():
    images, upright = bars(600)
    data = labelled(upright, 600)
    flat = simple(images.reshape(600, -1).astype(np.float32), upright)
    test = flat.part("test")
    linear = Fitted(Logistic(), flat, "label", 0)
    assert accuracy(linear.logits(test.x), test.attribute("label"))[0] < 0.6
    assert read(channels_first(images), data) > 0.97


def test_where_nothing_leaks_the_interval_holds_chance():
    missed = 0
    for seed in range(4):
        images, _ = bars(300, seed=seed)
        label = np.random.default_rng(seed).integers(0, 2, 300)
        data = labelled(label, 300)
        test = data.parts == "test"
        brief = replace(TINY, images=1000)
        scores = fit(channels_first(images), data, brief, seed).logits(channels_first(images)[test])
        truth = data.attribute("label").rows(test)
        low, high = accuracy(scores, truth)[1]
        missed += not low <= 0.5 <= high
    assert missed <= 1


@pytest.mark.parametrize("attacker", [TINY, PixelCnnDeep(width=8, images=3_000, batch=16)])
def test_several_classes(attacker):
    images, label = stripes(4, 300)
    assert read(images, labelled(label, 300), attacker) > 0.97


def test_a_leak_of_one_step_of_grey():
    """Standardised, the smallest difference between bytes is as loud as any other."""
    label = np.arange(400) // 7 % 2
    images = np.full((400, 3, 16, 16), 120, np.uint8)
    images[label == 1, :, 4:12, 4:12] += 1
    assert read(images, labelled(label, 400)) == 1.0


def test_missing_labels_are_masked():
    """The unlabelled half shows the other class."""
    images, label = stripes(2, 600)
    known = np.random.default_rng(1).random(600) < 0.6
    images[~known] = images[~known][:, :, ::-1]
    column = pa.array(label, mask=~known)
    data = Dataset.of_labels({"label": column, "split": parts(600)}, 600)
    assert data.attribute("label").missing == int((~known).sum()) > 200
    assert read(images, data) > 0.97


def test_without_labels_in_val_it_still_attacks():
    images, label = stripes(2, 400)
    column = pa.array(label, mask=np.array(parts(400)) == "val")
    data = Dataset.of_labels({"label": column, "split": parts(400)}, 400)
    assert read(images, data, replace(TINY, most_epochs=8)) > 0.97


def test_several_labels_at_once():
    rng = np.random.default_rng(0)
    on = rng.integers(0, 2, (600, 3))
    images = rng.integers(0, 80, (600, 3, 16, 16), dtype=np.uint8)
    images[on[:, 0] == 1, :, :5] += 100
    images[on[:, 1] == 1, :, 11:] += 100  # the third label does not show
    label = Attribute("label", "multilabel", ("a", "b", "c"), on)
    train, val, test = (by_turns(600) == part for part in ("train", "val", "test"))
    fitted = TINY.fit(images[train], label.rows(train), images[val], label.rows(val), seed=0)
    scores = fitted.logits(images[test])
    assert scores.shape == (120, 3)
    right = ((scores > 0) == (on[test] == 1)).mean(axis=0)
    assert right[:2].min() > 0.97
    assert right[2] == pytest.approx(0.5, abs=0.17)


@pytest.mark.parametrize("train_class", [0, 1])
def test_one_class_in_train_is_the_only_answer(train_class):
    images, _ = stripes(2, 100)
    label = np.where(np.array(parts(100)) == "test", 1 - train_class, train_class)
    data = labelled(label, 100)
    scores = fit(images, data, replace(TINY, most_epochs=4)).logits(images)
    assert np.isfinite(scores).all()
    assert set(scores.argmax(axis=1).tolist()) == {train_class}


def test_the_seed_decides_and_others_in_a_batch_do_not():
    images, label = stripes(3, 300)
    data = labelled(label, 300)
    brief = replace(TINY, most_epochs=2)
    kept = images.copy()
    images.flags.writeable = False  # as in a worker process
    one, two = (fit(images, data, brief, seed=5) for _ in range(2))
    whole = one.logits(images)
    assert np.array_equal(whole, two.logits(images))
    assert not np.array_equal(whole, fit(images, data, brief, seed=6).logits(images))
    alone = np.concatenate([one.logits(images[i : i + 1]) for i in range(3)])
    assert np.allclose(alone, whole[:3], atol=1e-4)
    assert np.array_equal(images, kept)


def test_a_warm_start_keeps_what_it_was_given_where_training_makes_it_worse():
    images, label = stripes(2, 300)
    data = labelled(label, 300)
    model = fit(images, data)
    assert model.state() is not None
    warm = fit(images, data, replace(TINY.warm(model.state()), rate=0.5))
    assert np.array_equal(warm.logits(images), model.logits(images))
    fixed = fit(images[:, :, ::-1], data, TINY.fixed(model.state()))
    assert np.array_equal(fixed.logits(images), model.logits(images))


def test_the_best_epoch_on_val_is_kept(monkeypatch):
    errors, measure = [], module._error
    monkeypatch.setattr(module, "_error", lambda *a: errors.append(measure(*a)) or errors[-1])
    images, _ = bars(200)
    label = np.random.default_rng(0).integers(0, 2, 200)
    data = labelled(label, 200)
    fitted = fit(channels_first(images), data, replace(TINY, images=4000, patience=3))
    val = data.parts == "val"
    wrong = (
        1
        - accuracy(fitted.logits(channels_first(images)[val]), data.attribute("label").rows(val))[0]
    )
    assert wrong == pytest.approx(min(errors), abs=2e-4)
    assert len(errors) < TINY.most_epochs or errors[-1] > min(errors)


def test_shifts_move_whole_images_and_repeat_the_border():
    images = torch.arange(2 * 3 * 6 * 6, dtype=torch.uint8).reshape(2, 3, 6, 6)
    draw = torch.Generator().manual_seed(0)
    moved = shifted(images, 1, draw)
    padded = torch.nn.functional.pad(images.float(), (1, 1, 1, 1), mode="replicate")
    for before, after in zip(padded, moved, strict=True):
        windows = [before[:, i : i + 6, j : j + 6] for i in range(3) for j in range(3)]
        assert any(torch.equal(after.float(), window) for window in windows)
    assert shifted(images, 0, draw) is images


def test_costs_grow_with_records_and_size():
    small = TINY.cost(100, 3 * 16 * 16, 2)
    assert 0 < small < 5
    assert PixelCnn().cost(2_000, 3072, 2) < PixelCnnDeep().cost(2_000, 3072, 2)
    assert PixelCnn().cost(2_000, 3072, 2) < PixelCnn().cost(60_000, 3072, 2) < 3600
