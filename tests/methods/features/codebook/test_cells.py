"""Joint classes and cells: who must look alike."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from methods.features.codebook.leaking import changed, draw, fit, leaking, made
from support import Recorder
from withhold.core.errors import UserError
from withhold.methods.features.codebook.cells import REST, as_one, cells_of, joint_classes
from withhold.records.attribute import Attribute, encode
from withhold.records.dataset import Dataset


def attribute(values: list[object], name: str = "a") -> Attribute:
    return encode(name, pa.array(values), "the data")


def tags(values: list[list[str] | None]) -> Attribute:
    return encode("tags", pa.array(values, pa.list_(pa.string())), "the data")


def test_a_joint_class_for_each_combination_there_is() -> None:
    found = joint_classes([attribute(["x", "x", "y", "y"]), attribute([1, 2, 1, 1], "b")])
    assert found.names == ('["x", "1"]', '["x", "2"]', '["y", "1"]')
    assert found.codes.tolist() == [0, 1, 2, 2]
    assert found.merged == 0


def test_a_record_that_lacks_any_label_has_no_class() -> None:
    found = joint_classes([attribute(["x", None, "y"]), attribute([1, 1, None], "b")])
    assert found.names == ('["x", "1"]',)
    assert found.codes.tolist() == [0, -1, -1]


def test_small_classes_are_merged_into_the_last() -> None:
    found = joint_classes([attribute(["a"] * 5 + ["b"] * 2 + ["c"] * 4 + ["d"] + [None])], 4)
    assert found.names == ('["a"]', '["c"]', REST)
    assert (found.merged, found.in_merged) == (2, 3)
    assert found.codes.tolist() == [0] * 5 + [2] * 2 + [1] * 4 + [2] + [-1]


def test_nothing_is_merged_where_fewer_than_two_would_be_left() -> None:
    found = joint_classes([attribute(["a"] * 5 + ["b"] * 2 + ["c"] * 3)], 4)
    assert found.names == ('["a"]', '["b"]', '["c"]')
    assert (found.merged, found.in_merged) == (0, 0)


def test_a_set_of_labels_is_one_class() -> None:
    found = as_one(tags([["a", "b"], [], ["b"], None, ["b", "a"]]))
    assert not found.multilabel
    assert [found.classes[c] if c >= 0 else None for c in found.codes] == [
        '["a", "b"]', "[]", '["b"]', None, '["a", "b"]',
    ]  # fmt: skip
    single = attribute(["x"])
    assert as_one(single) is single


def test_half_a_set_of_labels_is_missing() -> None:
    known = np.array([[1, 0], [1, -1], [-1, -1]])
    assert as_one(Attribute("m", "multilabel", ("a", "b"), known)).codes.tolist() == [0, -1, -1]


def test_a_batch_of_records_without_any_tags() -> None:
    """A streamed batch may hold no tag at all: empty lists are a set, a null is missing."""
    assert as_one(tags([[], []])).codes.tolist() == [0, 0]
    assert as_one(tags([None, None])).codes.tolist() == [-1, -1]


def test_different_combinations_never_share_a_name() -> None:
    """The name is how a class is found again at transform time."""
    one, two = attribute(["x", "x · y"]), attribute(["y · z", "z"], "b")
    names = joint_classes([one, two]).names
    assert len(set(names)) == len(names) == 2


def test_different_sets_of_labels_never_share_a_name() -> None:
    for values in ([["a", "b"], ["a+b"]], [[], ["none"]]):
        names = joint_classes([tags(values)]).names
        assert len(set(names)) == len(names) == 2


def test_a_class_that_is_called_like_the_rest_is_not_the_rest() -> None:
    found = joint_classes([attribute([REST] * 5 + ["b"] * 5 + ["c"])], 4)
    assert len(set(found.names)) == len(found.names) == 3


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=60),
    st.integers(1, 6),
)
def test_cells_are_the_pairs_and_few_share(pairs: list[tuple[int, int]], fewest: int) -> None:
    s, u = np.array(pairs, np.int64).T
    found = cells_of(s, u, fewest)
    assert set(found.cell) == set(range(len(found.preserved)))
    np.testing.assert_array_equal(found.preserved[found.cell], u)  # no cell mixes values
    count = {p: pairs.count(p) for p in pairs}
    for i, one in enumerate(pairs):
        for j, two in enumerate(pairs):
            both_few = max(count[one], count[two]) < fewest and one[1] == two[1]
            assert (found.cell[i] == found.cell[j]) == (one == two or both_few)


# --- in a fit -----------------------------------------------------------------------------------


def test_what_is_merged_is_said_and_gets_codes_too() -> None:
    data = leaking(600)
    who = data.table["who"].to_pylist()
    rare = [f"rare {i % 3}" if i % 40 == 0 else w for i, w in enumerate(who)]
    data, said = changed(data, who=rare), Recorder()
    modifier = made(data, solver="barycentre", use_labels=True, progress=said)
    train = data.part("train").attribute("who")
    few = sum(int(n) for n in train.counts if n < 5)
    line = next(s for s in said.lines if "are merged" in s)
    assert line.startswith("warning: 3 joint classes of who with fewer than 5 records are merged")
    assert f"their {few} records ({100 * few / len(train.codes):.1f} %)" in line
    assert modifier.classes[-1] == REST
    assert len(draw(modifier, data)) == len(data)


def read_of_thirty(extra: int) -> float:
    """What the best attacker reads of 30 people of 10 records each; the first has some more."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(30), 20)
    x = 3 * rng.standard_normal((30, 20))[who] + rng.standard_normal((600, 20))
    split = np.tile(["train", "test"], 300)
    split[1 : 1 + 2 * extra : 2] = "train"
    table = {"who": [f"p{i:02d}" for i in who], "split": split.tolist()}
    data = Dataset.from_arrays(x.astype(np.float32), table)
    held = data.part("test")
    total = np.zeros((30, len((modifier := made(data, smallest=11)).codes)))
    np.add.at(total, held.attribute("who").codes, modifier.probabilities(held.x))
    return float(total.max(axis=0).sum() / len(held))


def test_one_record_more_in_one_class_does_not_uncover_the_others() -> None:
    assert read_of_thirty(1) < read_of_thirty(0) + 0.04


def test_records_without_a_label_are_left_out() -> None:
    """Their features have no part in the fit: as if they had not been there."""
    data = leaking(400)
    gone = np.arange(400) % 9 == 0
    who = [None if g else w for w, g in zip(data.table["who"].to_pylist(), gone, strict=True)]
    train = data.table["split"].to_pylist()
    x = data.x.copy()
    x[gone & (np.array(train) == "train")] *= -30
    table = {"who": who, "split": data.table["split"]}
    one = made(changed(data, who=who, word=None), codes=4)
    two = made(Dataset.from_arrays(x, table), codes=4)
    np.testing.assert_array_equal(one.codes, two.codes)


def test_several_suppressed_attributes_one_of_them_multilabel() -> None:
    data = leaking(800)
    pattern = [[], ["a"], ["a", "b"]]
    data = changed(data, tags=[pattern[i % 3] for i in range(800)], word=None)
    modifier = made(data, "who,tags", solver="barycentre", use_labels=True)
    assert modifier.needs == ("who", "tags")
    assert json.dumps(["p0", "[]"]) in modifier.classes
    assert json.dumps(["p1", '["a", "b"]']) in modifier.classes
    assert len(set(draw(modifier, data))) > 1


def test_one_class_only_is_refused() -> None:
    data = leaking(200)
    with pytest.raises(UserError, match=r"'who'.* has one class only"):
        fit(changed(data, who=["p"] * 200))


def test_labels_that_never_occur_together_are_refused() -> None:
    data = leaking(400)
    who, word = data.table["who"].to_pylist(), data.table["word"].to_pylist()
    who = [w if i % 2 else None for i, w in enumerate(who)]
    word = [None if i % 2 else w for i, w in enumerate(word)]
    with pytest.raises(UserError, match="no two classes with labels of all of who, word"):
        fit(changed(data, who=who, word=word), "who,word")
