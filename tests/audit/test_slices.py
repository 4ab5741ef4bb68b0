from __future__ import annotations

import numpy as np

from withhold.audit.intervals import wilson
from withhold.audit.slices import by_class, by_group, worst
from withhold.records.attribute import Attribute


def attribute(name, codes, classes=None) -> Attribute:
    codes = np.asarray(codes, np.int64)
    names = classes or tuple(f"{name}{i}" for i in range(codes.max() + 1))
    return Attribute(name, "categorical", names, codes)


def planted(share_there, share_elsewhere, n=1000, group=3, small=0):
    """Ten villages of a hundred; the attacker does otherwise in one of them."""
    rng = np.random.default_rng(0)
    village = np.arange(n) % 10
    right = rng.random(n) < np.where(village == group, share_there, share_elsewhere)
    others = {"village": attribute("village", village), "side": attribute("side", np.arange(n) % 2)}
    return others, right


def test_slices_count_right_and_wrong():
    truth = attribute("a", [0, 0, 0, 1, 1, -1], ("x", "y", "never"))
    right = np.array([True, False, True, True, True, False])
    found = by_class("a", truth, right)
    assert [(s.by, s.value, s.records, s.accuracy) for s in found] == [
        ("a", "x", 3, 2 / 3),
        ("a", "y", 2, 1.0),
    ]
    assert found[0].ci == wilson(2, 3)


def test_a_planted_group_is_named_where_a_suppressed_attribute_is_read_best():
    others, right = planted(0.9, 0.5)
    found = worst(by_group(others, right), suppressed=True)
    assert (found.by, found.value, found.records) == ("village", "village3", 100)
    assert found.accuracy > 0.8


def test_a_planted_group_is_named_where_any_other_is_read_worst():
    others, right = planted(0.3, 0.9)
    found = worst(by_group(others, right), suppressed=False)
    assert (found.by, found.value) == ("village", "village3")
    # And the wrong role names another one.
    assert worst(by_group(others, right), suppressed=True).value != "village3"


def test_the_best_of_many_small_groups_is_good_by_chance():
    """Twenty records all read say less than four hundred of which 95 % are."""
    place = np.repeat(np.arange(3), [19, 24, 400])
    right = np.concatenate([np.ones(19), np.ones(24), np.arange(400) % 20 != 0]).astype(bool)
    slices = by_group({"place": attribute("place", place)}, right)
    assert [s.accuracy for s in slices[:2]] == [1.0, 1.0]
    assert worst(slices, suppressed=True).value == "place2"


def test_small_slices_are_shown_but_not_named():
    place = np.repeat(np.arange(2), [19, 19])
    slices = by_group({"place": attribute("place", place)}, np.ones(38, bool))
    assert len(slices) == 2
    assert worst(slices, suppressed=True) is None
    assert worst((), suppressed=False) is None


def test_what_is_no_division_into_groups_is_left_out():
    n = 600
    several = Attribute("tags", "multilabel", ("x", "y"), np.zeros((n, 2), np.int64))
    others = {
        "tags": several,
        "id": attribute("id", np.arange(n)),
        "one": attribute("one", np.zeros(n)),
        "side": attribute("side", np.arange(n) % 2),
    }
    assert {s.by for s in by_group(others, np.ones(n, bool))} == {"side"}
    assert by_class("tags", several, np.ones(n, bool)) == ()


def test_records_without_the_other_label_are_in_no_group():
    other = attribute("side", np.where(np.arange(90) % 3 == 0, -1, np.arange(90) % 2))
    slices = by_group({"side": other}, np.ones(90, bool))
    assert sum(s.records for s in slices) == 60
