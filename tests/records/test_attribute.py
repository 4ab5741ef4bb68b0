from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.core.errors import UserError
from withhold.records.attribute import encode, gather


def refused(column, message):
    """Refused either when encoded or when asked to be a label; one line that names the column."""
    with pytest.raises(UserError, match=message) as caught:
        encode("colour", column, "t.parquet").require_label("t.parquet")
    assert "\n" not in str(caught.value)
    assert "'colour'" in str(caught.value)
    assert "t.parquet" in str(caught.value)


# --- what is a label ---


@pytest.mark.parametrize(
    ("values", "kind", "classes", "codes"),
    [
        (["b", "a", None, "b"], pa.string(), ("a", "b"), [1, 0, -1, 1]),
        (["b", "a", None, "b"], pa.large_string(), ("a", "b"), [1, 0, -1, 1]),
        (["b", "a", None, "b"], pa.dictionary(pa.int8(), pa.string()), ("a", "b"), [1, 0, -1, 1]),
        ([10, 9, None, -1], pa.int8(), ("-1", "9", "10"), [2, 1, -1, 0]),
        ([10, 9, None, 10], pa.uint64(), ("9", "10"), [1, 0, -1, 1]),
        ([True, None, False], pa.bool_(), ("False", "True"), [1, -1, 0]),
        ([2.0, None, 1.0], pa.float64(), ("1", "2"), [1, -1, 0]),
        ([2.0, float("nan"), 1.0], pa.float32(), ("1", "2"), [1, -1, 0]),
        ([2.0, None, 1.0], pa.float16(), ("1", "2"), [1, -1, 0]),
        (
            [datetime.date(2024, 1, 2), None, datetime.date(2023, 1, 2)],
            pa.date32(),
            ("2023-01-02", "2024-01-02"),
            [1, -1, 0],
        ),
    ],
    ids=lambda v: str(v) if isinstance(v, pa.DataType) else None,
)
def test_labels_are_numbered_in_the_order_of_their_values(values, kind, classes, codes):
    attribute = encode("a", pa.array(values, kind), "t")
    assert attribute.kind == "categorical"
    assert attribute.classes == classes
    assert attribute.codes.tolist() == codes
    assert attribute.codes.dtype == np.int64
    assert attribute.missing == codes.count(-1)


def test_chunks_and_their_own_dictionaries_change_nothing():
    whole = ["b", "a", None, "c", "a", "b"]
    chunks = pa.chunked_array([pa.array(whole[i : i + 2]).dictionary_encode() for i in (0, 2, 4)])
    for column in (chunks, pa.chunked_array([whole[:1], [], whole[1:]], pa.string())):
        attribute = encode("a", column, "t")
        assert attribute.classes == ("a", "b", "c")
        assert attribute.codes.tolist() == [1, 0, -1, 2, 0, 1]


@given(st.lists(st.one_of(st.none(), st.integers(-50, 50)), min_size=1, max_size=80))
def test_codes_name_the_values_and_counts_count_them(values):
    attribute = encode("a", pa.array(values, pa.int64()), "t")
    back = [None if c < 0 else int(attribute.classes[c]) for c in attribute.codes]
    assert back == values
    known = [v for v in values if v is not None]
    assert attribute.counts.tolist() == [known.count(int(c)) for c in attribute.classes]
    assert attribute.missing == values.count(None)
    most = max((known.count(v) for v in known), default=0)
    assert attribute.majority == pytest.approx(most / max(len(known), 1))


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 5)), min_size=1, max_size=60),
    st.permutations(range(6)),
)
def test_relabelling_the_classes_changes_no_count(values, names):
    renamed = [None if v is None else f"class {names[v]}" for v in values]
    one, two = encode("a", pa.array(values, pa.int64()), "t"), encode("a", pa.array(renamed), "t")
    assert sorted(one.counts) == sorted(two.counts)
    assert one.majority == two.majority
    assert np.array_equal(one.known, two.known)
    assert np.array_equal(
        one.codes[:, None] == one.codes[None], two.codes[:, None] == two.codes[None]
    )


def test_some_rows_keep_the_classes_of_all():
    attribute = encode("a", pa.array(["u", "v", "w", None]), "t")
    for rows in (np.array([3, 1]), np.array([False, True, False, True])):
        part = attribute.rows(rows)
        assert part.classes == ("u", "v", "w")
        assert sorted(part.codes.tolist()) == [-1, 1]
        assert part.counts.tolist() == [0, 1, 0]


# --- what is not ---


def test_fractions_are_a_measure():
    refused(pa.array([1.5, 2.5, 1.5, None]), r"fractions \(2 different values\).*bin it into")


@pytest.mark.parametrize("value", [float("inf"), 1e30])
def test_floats_that_no_integer_holds_are_no_label(value):
    refused(pa.array([1.0, value, 1.0, value]), "not a label")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([datetime.datetime(2024, 1, 1)] * 4),
        pa.array([b"ab"] * 4),
        pa.array([{"a": 1}] * 4),
        pa.array([datetime.timedelta(1)] * 4),
    ],
    ids=["timestamp", "binary", "struct", "duration"],
)
def test_columns_of_other_kinds_are_refused_by_their_type(column):
    refused(column, "which is not a label; use text, integers, booleans")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([None] * 4, pa.string()),
        pa.nulls(4),
        pa.array([float("nan")] * 4),
        pa.array([None] * 4, pa.list_(pa.string())),
        pa.array([None] * 4, pa.list_(pa.int64())),
    ],
    ids=["text", "null", "nan", "tags", "lists"],
)
def test_nothing_labelled(column):
    refused(column, "is null in every record")


def test_one_class_only():
    refused(pa.array(["red", "red", None]), r"has one class only \('red'\)")
    # Also in a part of data that has more.
    part = encode("colour", pa.array(["blue", "red", "red"]), "t").rows(np.array([1, 2]))
    with pytest.raises(UserError, match=r"has one class only \('red'\)"):
        part.require_label("the training part of t")


@pytest.mark.parametrize(
    "values",
    [
        [f"id {i}" for i in range(100)],  # every record its own class
        [1, 2, 3, 4, 5, 5],  # fewer than two records a class
        [1, 2, None, None, None, None],  # missing labels do not count
    ],
)
def test_more_classes_than_a_label_can_mean(values):
    refused(
        pa.array(values), "fewer than two records per class; bin it into classes, or leave it out"
    )


def test_two_records_a_class_are_enough():
    encode("a", pa.array([1, 1, 2, 2, 3, 3]), "t").require_label("t")


# --- multi-label ---


def test_tags_are_sorted_and_an_empty_set_is_known():
    column = pa.chunked_array([[["b"], ["a", "b", "b"]], [None, []], [["c", None]]])
    attribute = encode("a", column, "t")
    assert attribute.classes == ("a", "b", "c")
    codes = [[0, 1, 0], [1, 1, 0], [-1, -1, -1], [0, 0, 0], [0, 0, 1]]
    assert attribute.codes.tolist() == codes
    assert attribute.known.tolist() == [True, True, False, True, True]
    assert attribute.counts.tolist() == [1, 2, 1]
    # label rates 1/4, 2/4, 1/4
    assert attribute.majority == pytest.approx((0.75 + 0.5 + 0.75) / 3)


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.int64()),
        pa.list_(pa.bool_()),
        pa.list_(pa.float32(), 2),
        pa.list_(pa.int8(), 2),
        pa.large_list(pa.int64()),
    ],
    ids=str,
)
def test_lists_of_zero_and_one_are_labels_by_position(kind):
    rows = [[1, 0], None, [0, 0], [1, 1], None, [0, 1]]
    codes = [[-1, -1] if r is None else r for r in rows]
    if kind.value_type == pa.bool_():
        rows = [None if r is None else [bool(v) for v in r] for r in rows]
    whole = pa.array(rows, kind)
    # Chunks and a slice: a null list keeps its slots in some layouts and not in others.
    for column, want in ((whole, codes), (pa.chunked_array([whole[:3], whole[3:]]), codes)):
        assert encode("a", column, "t").codes.tolist() == want
    assert encode("a", whole[1:4], "t").codes.tolist() == codes[1:4]


def test_tags_of_a_categorical_column():
    kind = pa.list_(pa.dictionary(pa.int32(), pa.string()))
    assert encode("a", pa.array([["b"], ["a"]], kind), "t").codes.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    "rows",
    [[[0, 1], [1]], [[0, 2], [1, 0]], [[], []], [[0.5, 1.0], [0.0, 1.0]]],
    ids=["lengths", "values", "empty", "fractions"],
)
def test_other_lists_are_refused(rows):
    refused(pa.array(rows), "a multi-label attribute is a list of 0/1 of one length")


def test_labels_that_never_change_teach_nothing():
    refused(pa.array([["a"], ["a"], None]), "no label that is 0 in some records and 1 in others")
    encode("a", pa.array([["a"], ["a", "b"]]), "t").require_label("t")


def test_binary_columns_are_gathered():
    columns = {
        "u": pa.chunked_array([[1, 0], [None]]),
        "v": pa.chunked_array([[True, None, False]]),
        "w": pa.chunked_array([[0.0, 1.0, None]]),
    }
    attribute = gather("m", columns, "t")
    assert attribute.classes == ("u", "v", "w")
    assert attribute.codes.tolist() == [[1, 1, 0], [0, -1, 1], [-1, 0, -1]]
    for bad in ([0, 2], ["0", "1"], [0.5, 1.0]):
        with pytest.raises(UserError, match=r"label 'u' of multi-label attribute 'm' in t must be"):
            gather("m", {"u": pa.chunked_array([bad])}, "t")
