from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.audit.attack import RecordLimits
from withhold.audit.split import AttackParts, Split, parts_of, straddles, unmeasurable, unseen
from withhold.core.errors import UserError
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset


def attribute(codes, name="a") -> Attribute:
    codes = np.asarray(codes, np.int64)
    return Attribute(name, "categorical", tuple(str(i) for i in range(codes.max() + 1)), codes)


def split(parts) -> Split:
    parts = np.asarray(parts)
    return Split(*(parts == p for p in ("train", "val", "test")))


def by_record(n) -> Split:
    """Three fifths, a fifth, a fifth; every person in every part, where people have records in a
    row."""
    return split(np.array(["train", "train", "train", "val", "test"])[np.arange(n) % 5])


PEOPLE = np.repeat(np.arange(60), 20)
GENDER = attribute(PEOPLE % 2, "gender")
MIXED = by_record(1200)


# --- people ---


def test_people_are_kept_apart_where_the_attribute_is_not_the_group():
    parts = parts_of(GENDER, MIXED, PEOPLE, "speaker", 0)
    met = [set(PEOPLE[rows]) for rows in (parts.train, parts.val, parts.test)]
    assert all(met)
    assert not met[2] & (met[0] | met[1])
    assert not met[0] & met[1]
    assert "('speaker') are in both train and test; for 'gender'" in parts.note
    # Nobody's test record is trained on, and none of train is tested on.
    assert MIXED.test[parts.test].all()
    assert not MIXED.test[np.concatenate([parts.train, parts.val])].any()
    assert parts.units is PEOPLE


@pytest.mark.parametrize("codes", [PEOPLE, np.arange(1200) // 5])
def test_records_are_split_where_the_attribute_tells_the_group(codes):
    """The speaker, or their sessions: nobody can name whom they never met."""
    parts = parts_of(attribute(codes), MIXED, PEOPLE, "speaker", 0)
    assert parts.note == ""
    for found, mask in zip((parts.train, parts.val, parts.test), masks(MIXED), strict=True):
        assert np.array_equal(found, np.flatnonzero(mask))


def test_a_split_by_person_is_taken_as_it_is():
    whole = split(np.array(["train", "train", "train", "val", "test"])[PEOPLE % 5])
    assert not straddles(PEOPLE, whole)
    assert straddles(PEOPLE, MIXED)
    parts = parts_of(GENDER, whole, PEOPLE, "speaker", 0)
    assert parts.note == ""
    assert np.array_equal(parts.test, np.flatnonzero(whole.test))


def test_too_few_people_to_keep_them_apart_is_said():
    people = np.repeat(np.arange(3), 100)
    parts = parts_of(attribute(people % 2, "gender"), by_record(300), people, "speaker", 0)
    assert "too few people ('speaker') per class" in parts.note
    assert "the same people are in train and test" in parts.note
    assert len(parts.test) == 60


def masks(parts: Split):
    return parts.train, parts.val, parts.test


# --- val ---


def test_without_a_val_part_a_tenth_of_train_is_set_apart():
    parts = np.where(np.arange(100) < 80, "train", "test")
    data = Dataset.from_arrays(np.zeros((100, 1)), {"a": np.arange(100) % 2, "split": parts})
    found = Split.of(data, 0)
    assert found.val.sum() == 8
    assert np.array_equal(found.train | found.val, parts == "train")
    assert np.array_equal(found.test, parts == "test")
    assert not np.array_equal(found.val, Split.of(data, 1).val)


def test_a_tenth_of_the_people_where_these_are_apart():
    parts = np.where(PEOPLE < 50, "train", "test")
    columns = {"who": PEOPLE, "split": parts}
    data = Dataset.from_arrays(np.zeros((1200, 1)), columns, group="who")
    found = Split.of(data, 0)
    assert len(set(PEOPLE[found.val])) == 5
    assert not set(PEOPLE[found.val]) & set(PEOPLE[found.train])


def test_val_is_carved_where_it_has_no_labels():
    codes = np.where(MIXED.val, -1, np.arange(1200) % 2)
    parts = parts_of(attribute(codes), MIXED, None, None, 0)
    assert len(parts.val) == 72
    assert len(parts.train) == 720 - 72
    assert MIXED.train[parts.val].all()
    assert np.array_equal(parts.test, np.flatnonzero(MIXED.test))


# --- what cannot be measured ---


@pytest.mark.parametrize(
    ("parts", "lacks"), [("train", "test"), ("test", "train"), ("val", "train")]
)
def test_a_split_that_lacks_a_part(parts, lacks):
    data = Dataset.from_arrays(np.zeros((9, 1)), {"split": [parts] * 9}, name="v.parquet")
    with pytest.raises(UserError, match=f"column 'split' of v.parquet has no {lacks} records"):
        Split.of(data, 0)


def test_too_few_labels_for_an_interval_or_a_fit():
    codes = np.where(MIXED.test & (np.arange(1200) >= 45), -1, np.arange(1200) % 2)
    assert unmeasurable(attribute(codes), MIXED) == (
        "attribute 'a' has too few labels in the test part: 9, but an interval needs at least 10"
    )
    codes = np.where(~MIXED.test & (np.arange(1200) >= 3), -1, np.arange(1200) % 2)
    said = "too few labels in the train part: 3, but a fit needs at least 4"
    assert said in unmeasurable(attribute(codes), MIXED)
    codes = np.where(MIXED.test & (np.arange(1200) >= 50), -1, np.arange(1200) % 2)
    assert unmeasurable(attribute(codes), MIXED) is None


def test_nobody_names_whom_they_never_met():
    whole = split(np.array(["train", "train", "train", "val", "test"])[PEOPLE % 5])
    assert "no class of 'a' is in both the train and the test part" in unmeasurable(
        attribute(PEOPLE), whole
    )
    assert unmeasurable(GENDER, whole) is None


def test_classes_that_train_never_saw_are_named():
    label = Attribute("a", "categorical", ("x", "y", "z"), np.array([0, 0, 1, 2, 1, 0]))
    parts = AttackParts(np.array([0, 1]), np.array([2]), np.array([3, 4, 5]), None)
    assert unseen(label, parts) == ["y", "z"]
    several = Attribute("a", "multilabel", ("x",), np.ones((6, 1), np.int64))
    assert unseen(several, parts) == []


# --- always ---


@given(data=st.data(), n=st.integers(30, 120), seed=st.integers(0, 3))
def test_no_record_is_in_two_parts_and_test_is_never_trained_on(data, n, seed):
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    mix = split(rng.choice(["train", "train", "val", "test"], n))
    codes = rng.integers(-1, data.draw(st.integers(1, 5)), n)
    codes[rng.permutation(n)[: data.draw(st.integers(0, n))]] = -1
    codes[0] = 0
    people = rng.integers(0, data.draw(st.integers(1, 12)), n) if data.draw(st.booleans()) else None
    label = attribute(codes)
    if unmeasurable(label, mix) is not None:
        return
    parts = parts_of(label, mix, people, "who", seed)
    rows = np.concatenate([parts.train, parts.val, parts.test])
    assert len(set(rows.tolist())) == len(rows)
    assert (codes[rows] >= 0).all()
    assert mix.test[parts.test].all()
    assert not mix.test[parts.train].any()
    assert not mix.test[parts.val].any()
    assert len(parts.train) > 0
    assert len(parts.val) > 0
    assert len(parts.test) >= 10
    if "measured on others" in parts.note:
        assert not set(people[parts.test]) & set(people[np.concatenate([parts.train, parts.val])])


# --- limits ---


def test_limits_take_some_of_each_part_and_no_other():
    parts = AttackParts(
        np.arange(0, 600), np.arange(600, 800), np.arange(800, 1000), PEOPLE, "said"
    )
    found = RecordLimits(train=100, val=300, test=50).apply(parts, 2, 0)
    assert len(found.train) == 100
    assert set(found.train) < set(parts.train)
    assert np.array_equal(found.val, parts.val)
    assert len(found.test) == 50
    assert set(found.test) < set(parts.test)
    assert found.units is PEOPLE
    assert found.note == "said"
    assert np.array_equal(found.test, RecordLimits(train=100, test=50).apply(parts, 2, 0).test)
    assert not np.array_equal(found.test, RecordLimits(test=50).apply(parts, 2, 1).test)
