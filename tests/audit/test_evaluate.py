from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pytest

from support import of_world
from withhold.audit import evaluate
from withhold.audit.attackers.mlp import Mlp
from withhold.audit.evaluate import Split, floor
from withhold.data.worlds import gaussian
from withhold.dataset import Dataset
from withhold.errors import UserError

# An attacker that is quick, and strong enough for what leaks plainly.
QUICK = Mlp(hidden=(64, 32), epochs=20)


def world(**more):
    """`secret` and `useful`, each read in 98 of 100 records."""
    options = {"separation_suppress": 2.0, "separation_preserve": 2.0} | more
    return gaussian.two_attributes(2500, 12, **options)


def turned(x, seed=0):
    """Features under a fixed random rotation: the same information in another place."""
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((x.shape[1],) * 2))[0]
    return (x @ basis).astype(np.float32)


@pytest.fixture(scope="module")
def data():
    return of_world(world())


def audit(original, release, suppress="secret", preserve="useful", **more):
    return evaluate(original, release, suppress, preserve, attacker=QUICK, **more)


# --- releases with a known answer ---


def test_a_release_that_changed_nothing_leaks_as_the_original(data):
    found = audit(data, data)
    for name, role in (("secret", "suppress"), ("useful", "preserve")):
        a = found.attributes[name]
        assert a.role == role
        assert a.original.accuracy == a.ignorant.accuracy == a.informed.accuracy
        assert a.original.accuracy == pytest.approx(world().bayes[name], abs=0.025)
        assert a.nag == pytest.approx(1)
    assert found.distortion == 0
    assert found.records == len(data)
    assert "secret: 9" in found.verdict
    assert "still readable" in found.verdict


def test_a_release_that_says_nothing_leaves_the_majority(data):
    found = audit(data, data.with_features(np.full_like(data.x, 0.7)))
    for a in found.attributes.values():
        assert a.informed.accuracy == pytest.approx(a.majority, abs=0.005)
        assert a.informed.balanced_accuracy == pytest.approx(0.5)
        assert a.ignorant.balanced_accuracy == pytest.approx(0.5)
        assert a.original.accuracy > 0.9
        assert a.nag == pytest.approx(0, abs=0.02)
    assert "not distinguishable from the floor" in found.verdict


def test_a_rotation_fools_the_ignorant_model_and_not_the_informed_one(data):
    """What the field's habit calls private: the product's reason to exist is the second figure."""
    # A rotation that takes the two axes of the world out of their own span.
    axes = world().axes
    basis = np.linalg.qr(np.vstack([axes, np.eye(12)]).T)[0]
    assert np.allclose(np.abs(basis[:, :2].T @ axes.T), np.eye(2), atol=1e-5)
    swapped = basis[:, [2, 3, 0, 1, *range(4, 12)]]
    release = data.with_features((data.x @ basis @ swapped.T).astype(np.float32))
    found = audit(data, release)
    secret = found.attributes["secret"]
    assert secret.original.accuracy > 0.95
    assert abs(secret.ignorant.accuracy - 0.5) < 0.08
    assert secret.informed.accuracy > 0.95
    assert secret.worst == secret.informed.accuracy
    assert "secret" in found.verdict
    assert found.distortion > 0


def test_the_verdict_heeds_the_ignorant_model_too(data):
    """A leak is a leak, even if the retrained attacker of the day missed it."""
    found = audit(data, data)
    secret = found.attributes["secret"]
    blind = replace(secret, informed=replace(secret.informed, accuracy=0.5, ci=(0.45, 0.55)))
    assert "still readable" in replace(found, attributes={"secret": blind}).verdict
    silent = replace(blind, ignorant=None)
    assert "not distinguishable" in replace(found, attributes={"secret": silent}).verdict


def test_a_release_of_other_dimensions_has_no_ignorant_figure(data):
    found = audit(data, data.with_features(turned(data.x)[:, :9]))
    secret = found.attributes["secret"]
    assert secret.ignorant is None
    assert found.distortion is None
    assert found.to_dict()["attributes"]["secret"]["ignorant"] is None
    assert secret.worst == secret.informed.accuracy


def test_distortion_is_the_mean_distance_of_test_records(data):
    shift = np.where(data.parts == "test", 3.0, 100.0)[:, None] * np.eye(12)[0]
    found = audit(data, data.with_features(data.x + shift), preserve=())
    assert found.distortion == pytest.approx(3, rel=1e-4)


# --- floor and majority ---


def test_a_preserved_label_gives_part_of_the_suppressed_away():
    """60 speakers of two genders: whoever keeps gender cannot hide the speaker below 2/60."""
    speaker = np.tile(np.arange(60), 50)
    columns = {"speaker": speaker, "gender": np.where(speaker < 12, "f", "m")}
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3000, 4)) + 6 * (speaker < 12)[:, None]
    data = Dataset.from_arrays(x, columns).with_split(stratify=["speaker"])
    found = audit(data, data, "speaker", "gender")
    speaker_found = found.attributes["speaker"]
    assert speaker_found.floor == pytest.approx(2 / 60, abs=0.004)
    assert speaker_found.majority == pytest.approx(1 / 60, abs=0.004)
    assert speaker_found.informed.ci[0] <= speaker_found.floor <= speaker_found.informed.ci[1]
    assert found.attributes["gender"].floor == found.attributes["gender"].majority
    assert "not distinguishable from the floor" in found.verdict


def test_the_floor_is_fitted_on_train_and_measured_on_test():
    """Labels of train that contradict those of test lead the table astray: then nobody uses it."""
    parts = np.array(["train"] * 40 + ["test"] * 40)
    useful = np.tile([0, 1], 40)
    secret = np.where(parts == "train", useful, 1 - useful)
    data = Dataset.from_arrays(
        np.zeros((80, 1)), {"secret": secret, "useful": useful, "split": parts.tolist()}
    )
    split = Split.of(data, 0)
    assert floor(data.attribute("secret"), [data.attribute("useful")], split) == 0.5
    assert floor(data.attribute("secret"), [], split) == 0.5


def test_floor_with_missing_labels_and_unseen_combinations():
    parts = ["train"] * 6 + ["val"] + ["test"] * 5
    #          train               val  test
    secret = ["a", "a", "b", "b", "b", None, "b", "a", "b", "b", None, "b"]
    useful = [0, 0, 1, 1, None, 1, None, 0, 1, 2, 0, None]
    columns = {"secret": secret, "useful": useful, "split": parts}
    data = Dataset.from_arrays(np.zeros((12, 1)), columns)
    split = Split(*(data.parts == p for p in ("train", "val", "test")))
    # 0 says a; 1 says b; missing says b; the unseen 2 says the commonest, b. All four are right.
    assert floor(data.attribute("secret"), [data.attribute("useful")], split) == 1.0


# --- who is measured, on what ---


@dataclass
class Spy:
    """An attacker that notes what it is shown, and knows nothing."""

    name = "spy"
    seen: list = field(default_factory=list)

    def fit(self, x, attribute, x_val, attribute_val, *, seed, progress):
        self.seen.append((attribute.name, x, x_val, attribute.codes, attribute_val.codes, seed))
        return Blind(len(attribute.classes))


@dataclass
class Blind:
    classes: int
    asked: list = field(default_factory=list)

    def logits(self, x):
        self.asked.append(x)
        return np.zeros((len(x), self.classes), np.float32)


def numbered(n=100, **columns):
    """Records whose first feature is their number."""
    x = np.column_stack([np.arange(n), np.zeros(n)])
    base = {"secret": np.arange(n) % 2, "useful": np.arange(n) // 2 % 2}
    return Dataset.from_arrays(x, base | columns)


def test_attackers_never_see_test():
    spy, data = Spy(), numbered()
    split = data.with_drawn_split(["secret"])
    release = data.with_features(data.x + np.float32([0, 1]))
    found = evaluate(data, release, "secret", "useful", attacker=spy, seed=4)
    # Two attributes, each attacked on the original and on the release.
    assert [s[0] for s in spy.seen] == ["secret", "secret", "useful", "useful"]
    for name, x, x_val, codes, codes_val, seed in spy.seen:
        # The split is the one that a fit draws, whatever its seed.
        assert np.array_equal(x[:, 0], np.flatnonzero(split.parts == "train"))
        assert np.array_equal(x_val[:, 0], np.flatnonzero(split.parts == "val"))
        attribute = data.attribute(name)
        assert np.array_equal(codes, attribute.codes[split.parts == "train"])
        assert np.array_equal(codes_val, attribute.codes[split.parts == "val"])
        assert seed == 4
    assert [s[1][0, 1] for s in spy.seen] == [0, 1, 0, 1]
    assert found.settings["attackers"] == ["spy"]
    assert found.settings["train"] + found.settings["val"] + found.settings["test"] == 100
    assert found.attributes["secret"].records == found.settings["test"]
    assert found.to_dict()["attributes"]["secret"]["ignorant"]["attacker"] == "spy"


def test_another_seed_is_the_same_split():
    """Else an audit with another seed than the fit's would test on what the fit has seen."""
    one, two = Spy(), Spy()
    data = numbered()
    evaluate(data, data, "secret", attacker=one, seed=0)
    evaluate(data, data, "secret", attacker=two, seed=1)
    assert np.array_equal(one.seen[0][1], two.seen[0][1])


def test_without_a_val_part_a_tenth_of_train_is_set_apart():
    parts = np.where(np.arange(100) < 80, "train", "test")
    spy, data = Spy(), numbered(split=parts.tolist())
    evaluate(data, data, "secret", attacker=spy)
    _, x, x_val, *_ = spy.seen[0]
    assert len(x_val) == 8
    assert sorted([*x[:, 0], *x_val[:, 0]]) == list(range(80))


def test_models_of_the_originals_are_used_where_given():
    spy, data = Spy(), numbered()
    model = Blind(2)
    evaluate(data, data, "secret", hidden=(), models={"secret": model}, attacker=spy)
    assert len(spy.seen) == 1  # only the informed one is trained
    assert len(model.asked) == 2  # on the originals, and on the release


def test_hidden_attributes_are_measured(data):
    third = np.tile([0, 1], len(data) // 2)
    more = data.with_column("third", pa.array(third)).with_column("id", pa.array(range(len(data))))
    more = more.with_features(data.x + 5 * third[:, None])
    found = audit(more, more)
    assert {n: a.role for n, a in found.attributes.items()} == {
        "secret": "suppress",
        "useful": "preserve",
        "third": "hidden",
    }
    assert found.attributes["third"].informed.accuracy > 0.98
    spy = Spy()
    evaluate(more, more, "secret", hidden=["third"], attacker=spy)
    assert {s[0] for s in spy.seen} == {"secret", "third"}


def test_missing_labels_count_for_nobody():
    secret = [None if i % 5 == 0 else i % 2 for i in range(200)]
    data = numbered(200, secret=secret)
    found = evaluate(data, data, "secret", attacker=Spy())
    test = data.with_drawn_split(["secret"]).part("test").attribute("secret")
    assert found.attributes["secret"].records == int(test.known.sum())
    assert found.attributes["secret"].majority == test.majority


def test_the_same_seed_finds_the_same(data):
    assert audit(data, data, preserve=()) == audit(data, data, preserve=())


# --- mistakes ---


def test_another_number_of_records(data):
    with pytest.raises(UserError, match=r"2,500 records and .* 2,400; a release has the same"):
        audit(data, data.rows(np.arange(2400)))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (["train"] * 100, "no test records"),
        (["test"] * 100, "no train records"),
        (["val"] * 50 + ["test"] * 50, "no train records"),
    ],
)
def test_a_split_that_cannot_measure(parts, message):
    data = numbered(split=parts)
    with pytest.raises(UserError, match=message):
        evaluate(data, data, "secret", attacker=Spy())


def test_labels_only_on_one_side():
    parts = np.where(np.arange(100) < 50, "train", "test")
    only_train = pa.array([i % 2 if i < 50 else None for i in range(100)])
    only_test = pa.array([i % 2 if i >= 50 else None for i in range(100)])
    for secret, where in ((only_train, "test"), (only_test, "train")):
        data = numbered(secret=secret, split=parts.tolist())
        with pytest.raises(UserError, match=f"'secret' has too few labels in the {where} part"):
            evaluate(data, data, "secret", attacker=QUICK)


def test_a_split_by_person_cannot_show_that_persons_are_hidden():
    """It would find 0 % whatever is released: that is a mistake, not privacy."""
    person = np.arange(400) // 10
    parts = np.array(["train", "train", "train", "val", "test"])[person % 5]
    columns = {"person": person, "gender": person // 5 % 2, "split": parts.tolist()}
    x = np.eye(40)[person]
    data = Dataset.from_arrays(x, columns, group="person")
    with pytest.raises(UserError, match="no class of 'person' is in both the train and the test"):
        evaluate(data, data, "person", attacker=QUICK)
    # It says nothing about the person, but is right for what persons share.
    found = evaluate(data, data, "gender", attacker=Spy())
    assert set(found.attributes) == {"gender"}


def test_persons_that_are_also_the_group_are_measured_on_a_split_of_records():
    person = np.arange(400) // 10
    columns = {"person": person, "gender": person // 5 % 2}
    data = Dataset.from_arrays(np.eye(40)[person], columns, group="person")
    assert evaluate(data, data, "person", attacker=Mlp()).attributes["person"].worst > 0.9


def test_roles_are_checked_first(data):
    with pytest.raises(UserError, match="did you mean 'secret'"):
        audit(data, data, "secrt")
    spy = Spy()
    with pytest.raises(UserError, match="'third' is not in"):
        evaluate(data, data, "secret", hidden=["third"], attacker=spy)
    assert spy.seen == []


def test_few_records_are_read_too_or_the_verdict_says_that_nothing_was_shown():
    """An attacker that did not learn must never be taken for a release that does not leak."""
    rng = np.random.default_rng(0)
    label = np.arange(300) % 2
    x = rng.standard_normal((300, 64)).astype(np.float32)
    x[:, 0] += 8 * label - 4
    data = Dataset.from_arrays(x, {"secret": label.astype(str)})
    found = evaluate(data, data, "secret")
    assert found.attributes["secret"].informed.accuracy > 0.95
    blank = data.with_features(rng.standard_normal((300, 64)).astype(np.float32))
    assert "shows nothing" in evaluate(blank, blank, "secret").verdict


def test_a_fit_and_an_audit_agree_on_what_was_held_out():
    data = numbered()
    one = data.with_drawn_split(["secret"]).parts
    assert np.array_equal(one, data.with_drawn_split(["useful", "secret"]).parts)
