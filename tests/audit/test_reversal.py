"""Reverse, then recognise: what a known change hides from the model of the originals comes back."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from audit.pictures import bars, channels_first, labelled, parts
from withhold.audit.attack import Outcome
from withhold.audit.attack_plan import Question, Seen
from withhold.audit.attackers import Logistic, PixelCnn
from withhold.audit.feature_views import FeatureViews
from withhold.audit.metrics import accuracy
from withhold.audit.reversal import Reversal
from withhold.audit.reverse_attack import ReverseAttack
from withhold.audit.split import AttackParts

TINY = PixelCnn(width=8, images=6_000, most_epochs=12, batch=16)
NET = Reversal(width=8, depth=2, images=4_000, most_epochs=12, batch=16)
N = 500


@pytest.fixture(autouse=True)
def _one_thread():
    """As in an audit."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def seen(pixels) -> Seen:
    x = np.zeros((len(pixels), 1), np.float32)
    return Seen(x, FeatureViews.of(x), pixels)


def question(label, *, train=None) -> Question:
    part = np.array(parts(N))
    rows = {p: np.flatnonzero(part == p) for p in ("train", "val", "test")}
    chosen = rows["train"] if train is None else train
    kept = AttackParts(chosen, rows["val"], rows["test"], None)
    return Question("label", "suppress", labelled(label, N).attribute("label"), kept, (), ())


def shuffled_and_inverted(images):
    """A fixed order of the pixels, and 255 - value: invertible, and nothing like a bar."""
    n, _, side, _ = images.shape
    order = np.random.default_rng(0).permutation(side * side)
    return (255 - images.reshape(n, 3, -1)[:, :, order]).reshape(images.shape)


@pytest.mark.slow
def test_an_invertible_change_is_undone_and_the_model_of_the_originals_reads_it():
    images, upright = bars(N)
    images = channels_first(images)
    released = shuffled_and_inverted(images)
    q = question(upright)
    train, val, test = q.parts.train, q.parts.val, q.parts.test
    label = q.attribute
    model = TINY.fit(images[train], label.rows(train), images[val], label.rows(val), seed=0)
    truth = label.rows(test)
    plain = accuracy(model.logits(images[test]), truth)[0]
    assert plain > 0.95
    assert accuracy(model.logits(released[test]), truth)[0] < 0.65  # it cannot read the release
    known = Outcome(
        "pixels-cnn", model.logits(images[val]), model.logits(images[test]), None, model.state(), 0
    )
    attack = ReverseAttack.plan([q], seen(images), seen(released), [TINY], seed=0, reversal=NET)
    (task,) = attack.tasks
    assert not task.originals[test].any()  # no attack sees the original of a test record
    attack.restored.append(task())
    reading, further = attack.attacks(q, [TINY], [known], seed=0)
    assert (reading.name, further.name) == ("reverse", "reverse-warm")
    assert accuracy(reading().test, truth)[0] > plain - 0.05


@pytest.mark.slow
def test_a_local_change_is_undone_by_the_network():
    """Colours inverted and exchanged where it is bright: no linear map does that."""
    images = channels_first(bars(N)[0])
    released = np.where(images > 150, images[:, [1, 2, 0]], 255 - images)
    q = question(np.arange(N) % 2)
    net = Reversal(width=8, depth=2, images=6_000, batch=16)
    made = net.restore(released, images, q.parts.train, q.parts.val, seed=0)
    test = q.parts.test
    off = np.abs(made[test].astype(int) - images[test]).mean()
    assert off < 10
    assert off < np.abs(released[test].astype(int) - images[test]).mean() / 3


def test_where_nothing_is_left_there_is_nothing_to_restore():
    images, upright = bars(N)
    images = channels_first(images)
    noise = np.random.default_rng(1).integers(0, 255, images.shape, dtype=np.uint8)
    q = question(upright)
    brief = Reversal(width=8, depth=2, images=600, batch=16)
    made = brief.restore(noise, images, q.parts.train, q.parts.val, seed=0)
    model = TINY.fit(
        images[q.parts.train],
        q.attribute.rows(q.parts.train),
        images[q.parts.val],
        q.attribute.rows(q.parts.val),
        seed=0,
    )
    truth = q.attribute.rows(q.parts.test)
    low, _ = accuracy(model.logits(made[q.parts.test]), truth)[1]
    assert low < 0.5


def test_the_seed_decides():
    images = channels_first(bars(60)[0])
    rows = np.arange(40), np.arange(40, 50)
    brief = Reversal(width=8, depth=2, images=80, batch=8)
    one, two = (
        brief._by_network(
            255 - images[rows[0]], images[rows[0]], images[rows[1]], images[rows[1]], images, seed=3
        )
        for _ in range(2)
    )
    assert np.array_equal(one, two)


def test_questions_with_the_same_records_share_a_reversal():
    images = channels_first(bars(N)[0])
    q = question(np.arange(N) % 2)
    other = question(np.arange(N) % 2, train=q.parts.train[:50])
    names = {"first": q, "second": q, "fewer": other}
    asks = [
        Question(name, "suppress", one.attribute, one.parts, (), ()) for name, one in names.items()
    ]
    plan = ReverseAttack.plan(asks, seen(images), seen(images), [TINY], seed=0)
    assert plan.of == {"first": 0, "second": 0, "fewer": 1}
    assert len(plan.tasks) == 2


@pytest.mark.parametrize("case", ["no original", "features", "linear"])
def test_there_is_no_reversal_without_pairs_of_images(case):
    images = channels_first(bars(N)[0])
    before = {"no original": None, "features": seen(images[:, :, :0]), "linear": seen(images)}[case]
    if case == "features":
        x = np.zeros((N, 1), np.float32)
        before = Seen(x, FeatureViews.of(x))
    reader = Logistic() if case == "linear" else TINY
    q = question(np.arange(N) % 2)
    assert not ReverseAttack.plan([q], before, seen(images), [reader], seed=0).tasks


def test_without_a_model_of_the_originals_a_fresh_network_reads_what_was_restored():
    images, upright = bars(N)
    images = channels_first(images)
    q = question(upright)
    attack = ReverseAttack.plan([q], seen(images), seen(images), [TINY], seed=0)
    attack.restored.append(images)
    (only,) = attack.attacks(q, [TINY], [], seed=0)
    assert only.name == "reverse"
    assert only.attacker is TINY


@pytest.mark.parametrize("side", [8, 24])
def test_other_sides(side):
    images = channels_first(bars(40, side)[0])
    brief = Reversal(width=4, images=40, batch=8)
    released = 255 - images
    released.flags.writeable = False  # as in a worker process
    made = brief.restore(released, images, np.arange(30), np.arange(30, 40), seed=0)
    assert made.shape == images.shape
