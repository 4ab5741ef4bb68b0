"""Who is shown what: attackers never see test, and everybody uses one split."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from audit.audited import LINEAR, Blind, Spy, audit, numbered, world
from support import of_world
from withhold.audit.feature_views import FeatureViews
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset


def test_attackers_never_see_test():
    spy, data = Spy(), numbered()
    parts = data.with_drawn_split(["secret"]).parts
    train, val, test = (parts == p for p in ("train", "val", "test"))
    release = data.with_features(data.x * np.float32([1, 7]) + np.float32([0, 1]))
    found = audit(data, release, attackers=(spy,), seed=4)
    # Two attributes, each attacked on the original and on the release.
    assert [s[0] for s in spy.seen] == ["secret", "secret", "useful", "useful"]
    views = [FeatureViews.of(d.x[train]).see("standard", d.x) for d in (data, release)]
    for i, (name, x, x_val, codes, codes_val, seed) in enumerate(spy.seen):
        # The split is the one that a fit draws, whatever its seed; features are standardised by
        # train, of what is attacked.
        assert np.array_equal(x, views[i % 2][train])
        assert np.array_equal(x_val, views[i % 2][val])
        assert np.array_equal(codes, data.attribute(name).codes[train])
        assert np.array_equal(codes_val, data.attribute(name).codes[val])
        assert seed == 4
    # Test is asked about afterwards: by models of originals, of originals and of the release.
    crossed = FeatureViews.of(data.x[train]).see("standard", release.x)
    asked = [views[0][val], views[0][test], crossed[test], views[1][val], views[1][test]]
    assert len(spy.asked) == 10
    for found_x, wanted in zip(spy.asked, asked * 2, strict=True):
        assert np.array_equal(found_x, wanted)
    assert found.settings["attackers"] == ["spy"]
    assert found.settings["train"] + found.settings["val"] + found.settings["test"] == 100
    assert found.attributes["secret"].records == found.settings["test"] == test.sum()
    assert found.attributes["secret"].ignorant.attacker == "spy"


def test_another_seed_is_the_same_split():
    """Else an audit with another seed than the fit's would test on what the fit has seen."""
    one, two = Spy(), Spy()
    data = numbered()
    audit(data, data, attackers=(one,), seed=0)
    audit(data, data, attackers=(two,), seed=1)
    assert np.array_equal(one.seen[0][1], two.seen[0][1])
    assert [s[-1] for s in one.seen + two.seen] == [0] * 4 + [1] * 4


def test_without_a_val_part_a_tenth_of_train_is_set_apart():
    parts = np.where(np.arange(100) < 80, "train", "test")
    spy, data = Spy(), numbered(split=parts.tolist())
    audit(data, data, attackers=(spy,))
    assert len(spy.seen[0][2]) == 8
    assert len(spy.seen[0][1]) == 72


def test_models_of_the_originals_are_used_where_given():
    spy, data = Spy(), numbered()
    model = Blind(2)
    release = data.with_features(data.x + 1)
    found = audit(data, release, hidden=(), preserve=(), models={"secret": model}, attackers=(spy,))
    assert len(spy.seen) == 1  # only the informed one is trained
    test = data.with_drawn_split(["secret"]).parts == "test"
    # On the originals, val and test, and on the release; with the features as they are.
    assert len(model.asked) == 3
    for wanted in (data.x[test], release.x[test]):
        assert any(np.array_equal(x, wanted) for x in model.asked)
    secret = found.attributes["secret"]
    assert secret.original.attacker == secret.ignorant.attacker == "given"
    assert secret.informed.attacker == "spy"


def test_hidden_attributes_are_measured():
    data = of_world(world(1000))
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
    audit(more, more, preserve=(), hidden=["third"], attackers=(spy,))
    assert {s[0] for s in spy.seen} == {"secret", "third"}


def test_missing_labels_count_for_nobody():
    secret = [None if i % 5 == 0 else i % 2 for i in range(200)]
    data = numbered(200, secret=secret)
    spy = Spy()
    found = audit(data, data, hidden=(), attackers=(spy,))
    test = data.with_drawn_split(["secret"]).part("test").attribute("secret")
    assert found.attributes["secret"].records == int(test.known.sum())
    assert found.attributes["secret"].majority == test.majority
    assert all((codes >= 0).all() for _, _, _, *both, _ in spy.seen for codes in both)


def test_people_are_kept_apart_but_where_they_are_the_question():
    """A split by record: gender is learned on some people and measured on others."""
    person = np.arange(1200) // 20
    columns = {"person": person, "gender": person % 2}
    x = np.random.default_rng(0).standard_normal((60, 30))[person]
    x = x + 0.1 * np.random.default_rng(1).standard_normal(x.shape)
    data = Dataset.from_arrays(x, columns, group="person")
    found = audit(data, data, "person", ())
    assert found.attributes["person"].informed.accuracy > 0.95
    gender = found.attributes["gender"]
    # Whoever knows the people knows their gender, and learns nothing of other people's.
    assert gender.informed.accuracy < 0.85
    assert any(
        "attackers were fitted on some people and measured on others" in n for n in gender.notes
    )
    assert gender.units == "person"
    used = found.settings["used"]
    assert used["gender"][2] < used["person"][2] == found.settings["test"]


def test_a_fit_and_an_audit_agree_on_what_was_held_out():
    data = numbered()
    one = data.with_drawn_split(["secret"]).parts
    assert np.array_equal(one, data.with_drawn_split(["useful", "secret"]).parts)


def test_the_inputs_are_left_alone():
    data = of_world(world(500))
    release = data.with_features(data.x[:, ::-1].copy())
    before = [d.digest() for d in (data, release)]
    audit(data, release, attackers=LINEAR)
    assert [d.digest() for d in (data, release)] == before


# --- mistakes ---


def test_another_number_of_records():
    data = of_world(world(500))
    with pytest.raises(UserError, match=r"500 records and .* 400; a release has the same"):
        audit(data, data.rows(np.arange(400)))


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
        audit(data, data, attackers=(Spy(),))


def test_labels_only_on_one_side():
    parts = np.where(np.arange(100) < 50, "train", "test")
    only_train = pa.array([i % 2 if i < 50 else None for i in range(100)])
    only_test = pa.array([i % 2 if i >= 50 else None for i in range(100)])
    for secret, where in ((only_train, "test"), (only_test, "train")):
        data = numbered(secret=secret, split=parts.tolist())
        with pytest.raises(UserError, match=f"'secret' has too few labels in the {where} part"):
            audit(data, data)


def test_a_split_by_person_cannot_show_that_persons_are_hidden():
    """It would find 0 % whatever is released: that is a mistake, not privacy."""
    person = np.arange(400) // 10
    parts = np.array(["train", "train", "train", "val", "test"])[person % 5]
    columns = {"person": person, "gender": person // 5 % 2, "split": parts.tolist()}
    data = Dataset.from_arrays(np.eye(40)[person], columns, group="person")
    with pytest.raises(UserError, match="no class of 'person' is in both the train and the test"):
        audit(data, data, "person", ())
    # It says nothing about the person, but is right for what persons share.
    found = audit(data, data, "gender", (), attackers=(Spy(),))
    assert set(found.attributes) == {"gender"}


def test_mistakes_are_found_before_anything_is_trained():
    data, spy = of_world(world(500)), Spy()
    for more, message in (
        ({"suppress": "secrt"}, "did you mean 'secret'"),
        ({"hidden": ["third"]}, "'third' is not in"),
        ({"joint": ["secret"]}, "names 1 attribute; join two or more"),
        ({"joint": ["secret,usefull"]}, "did you mean 'useful'"),
        ({"fail_if": "secrt>5"}, "did you mean 'secret'"),
        ({"fail_if": "secret>five"}, "not a number of points"),
        ({"again": [data.rows(np.arange(10))]}, "a release has the same records"),
        ({"id": "key"}, "id column 'key' is not in"),
        ({"suppress": ""}, "no attribute to suppress"),
    ):
        with pytest.raises(UserError, match=message):
            audit(data, data, attackers=(spy,), **more)
    assert spy.seen == []
