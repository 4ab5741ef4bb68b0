"""Releases with a known answer."""

from __future__ import annotations

import numpy as np
import pytest

from audit.audited import QUICK, audit, world
from support import of_world
from withhold import audit as front_door
from withhold.audit import evaluate
from withhold.audit.attackers import Prior
from withhold.datasets.worlds import gaussian
from withhold.records.dataset import Dataset


@pytest.fixture(scope="module")
def data():
    return of_world(world())


def turned(x, seed=0):
    """Features under a fixed random rotation: the same information in another place."""
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((x.shape[1],) * 2))[0]
    return (x @ basis).astype(np.float32)


def test_a_release_that_changed_nothing_leaks_as_the_original(data):
    found = audit(data, data)
    for name, role in (("secret", "suppress"), ("useful", "preserve")):
        a = found.attributes[name]
        assert a.role == role
        assert a.original.accuracy == a.ignorant.accuracy == a.informed.accuracy
        assert a.original.accuracy == pytest.approx(world().bayes[name], abs=0.025)
        assert a.nag == pytest.approx(1)
        assert a.informed.bits > 0.75
        assert a.status == "readable"
    assert found.distortion.mean == 0
    assert found.records == len(data)
    assert "the release is the original: nothing was changed" in found.notes
    assert "secret: 9" in found.verdict
    assert "still readable" in found.verdict
    assert found.mnag == pytest.approx(0, abs=0.03)


def test_a_full_leak_is_read_whole():
    data = of_world(gaussian.full_leak(1000, 8, 4))
    a = audit(data, data, "label", ()).attributes["label"]
    assert a.original.accuracy == a.ignorant.accuracy == a.informed.accuracy == a.worst == 1.0
    assert a.informed.ci[1] == 1.0
    assert a.leakage_bits == pytest.approx(2, abs=0.01)


def test_a_release_that_says_nothing_leaves_the_majority(data):
    found = audit(data, data.with_features(np.full_like(data.x, 0.7)))
    for a in found.attributes.values():
        assert a.informed.accuracy == pytest.approx(a.majority, abs=0.005)
        assert a.informed.balanced_accuracy == pytest.approx(0.5)
        assert a.ignorant.balanced_accuracy == pytest.approx(0.5)
        assert a.original.accuracy > 0.9
        assert a.nag == pytest.approx(0, abs=0.02)
        assert a.informed.bits == pytest.approx(0, abs=1e-3)
        assert a.status == "floor"
    assert "not distinguishable from the floor" in found.verdict
    assert "no feature of the release varies: it reveals nothing about any record" in found.notes


def test_a_rotation_fools_the_ignorant_model_and_not_the_informed_one(data):
    """What the field's habit calls private: the product's reason to exist is the second figure."""
    # A rotation that takes the two axes of the world out of their own span.
    axes = world().axes
    basis = np.linalg.qr(np.vstack([axes, np.eye(12)]).T)[0]
    assert np.allclose(np.abs(basis[:, :2].T @ axes.T), np.eye(2), atol=1e-5)
    swapped = basis[:, [2, 3, 0, 1, *range(4, 12)]]
    release = data.with_features((data.x @ basis @ swapped.T).astype(np.float32))
    found = audit(data, release, preserve=(), hidden=(), attackers=QUICK)
    secret = found.attributes["secret"]
    assert secret.original.accuracy > 0.95
    assert abs(secret.ignorant.accuracy - 0.5) < 0.08
    assert secret.informed.accuracy > 0.95
    assert secret.worst == secret.informed.accuracy
    assert secret.ignorant.bits < 0.1 < 0.7 < secret.leakage_bits
    assert "secret" in found.verdict
    assert found.distortion.mean > 0


def test_the_whole_ladder_is_shown_and_the_best_on_val_is_the_figure():
    data = of_world(world(400))
    found = audit(data, data, preserve=(), hidden=(), attackers=QUICK, quick=False)
    secret = found.attributes["secret"]
    rungs = {r.attacker: r for r in secret.ladder}
    # Fresh, with a second seed, from the model of the originals, and the surest together.
    assert set(rungs) == {"prior", "logistic", "mlp", "mlp-2", "mlp-warm", "ensemble"}
    assert {r.attacker for r in secret.models} == {"logistic", "mlp"}
    chosen = rungs[secret.informed.attacker]
    assert chosen.accuracy == secret.informed.accuracy
    assert chosen.val_accuracy == max(r.val_accuracy for r in rungs.values())
    models = {r.attacker: r for r in secret.models}
    assert models[secret.original.attacker].accuracy == secret.original.accuracy


def test_a_release_of_other_dimensions_has_no_ignorant_figure(data):
    found = audit(data, data.with_features(turned(data.x)[:, :9]))
    secret = found.attributes["secret"]
    assert secret.ignorant is None
    assert found.distortion is None
    assert found.to_dict()["attributes"]["secret"]["ignorant"] is None
    assert secret.worst >= secret.informed.accuracy > 0.8
    assert secret.original.accuracy > 0.95
    assert any("9 features and the original 12" in note for note in found.notes)


def test_distortion_is_the_mean_distance_of_test_records(data):
    shift = np.where(data.parts == "test", 3.0, 100.0)[:, None] * np.eye(12)[0]
    found = audit(data, data.with_features(data.x + shift), preserve=(), hidden=())
    assert found.distortion.mean == pytest.approx(3, rel=1e-4)
    assert found.to_dict()["utility"]["distortion"] == found.distortion.mean
    assert sum(found.distortion.counts) == (data.parts == "test").sum()


def test_rows_in_another_order_are_matched_before_anything_is_measured(data):
    keyed = Dataset.from_arrays(data.x, data.table.append_column("key", [list(range(len(data)))]))
    order = np.random.default_rng(0).permutation(len(data))
    found = audit(keyed, keyed.rows(order), preserve=(), hidden=())
    assert found.attributes["secret"].ignorant.accuracy > 0.95
    assert "records were in another order; matched by column 'key'" in found.notes


def test_few_records_are_read_too_or_the_verdict_says_that_nothing_was_shown():
    """An attacker that did not learn must never be taken for a release that does not leak."""
    label = np.arange(300) % 2
    said = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((300, 64)).astype(np.float32)
        blank = Dataset.from_arrays(x, {"secret": label.astype(str)})
        said.append("shows nothing" in audit(blank, blank, preserve=()).verdict)
    assert sum(said) >= 7  # an interval may miss, one in forty
    x[:, 0] += 8 * label - 4
    data = blank.with_features(x)
    found = audit(data, data, preserve=(), attackers=QUICK)
    assert found.attributes["secret"].informed.accuracy > 0.95


def test_nag_is_none_where_the_original_has_no_room(data):
    """The prior reads no more than the majority from the original."""
    found = audit(data, data, attackers=(Prior(),))
    assert [a.nag for a in found.attributes.values()] == [None, None]
    assert found.mnag is None


def test_mnag_is_high_where_the_useful_stays_and_the_secret_goes(data):
    axis = world().axes[0]
    release = data.with_features(data.x - np.outer(data.x @ axis, axis).astype(np.float32))
    found = audit(data, release)
    assert found.attributes["secret"].status == "floor"
    assert found.attributes["useful"].status == "readable"
    assert found.mnag == pytest.approx(1, abs=0.1)


def test_the_front_door_is_the_same_audit():
    assert callable(front_door)
    assert callable(evaluate)
    assert front_door.evaluate is evaluate
