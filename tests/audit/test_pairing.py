from __future__ import annotations

from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.audit.pairing import matching, pair
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.release.released_dataset import ReleasedDataset


def numbered(n=12, name="original", **columns) -> Dataset:
    """Records whose first feature is their number."""
    x = np.column_stack([np.arange(n), np.zeros(n)])
    base = {"age": np.arange(n) % 5 + 20, "note": [f"n{i % 3}" for i in range(n)]}
    return Dataset.from_arrays(x, base | columns, name=name)


def released(data: Dataset, order=None, *, name="release") -> Dataset:
    """A release in another order."""
    changed = Dataset.from_arrays(data.x + np.float32([0, 1]), data.table, name=name)
    return changed if order is None else changed.rows(np.asarray(order))


IDS = {"key": [f"r{i * 7 % 12}" for i in range(12)]}
ORDER = np.random.default_rng(0).permutation(12)


# --- the right order ---


@pytest.mark.parametrize("by", [None, "key"])
@pytest.mark.parametrize(
    "ids",
    [
        IDS["key"],
        [i * 7 % 12 for i in range(12)],
        pa.array(IDS["key"]).dictionary_encode(),
    ],
)
def test_shuffled_rows_are_put_right_by_an_id(ids, by):
    data = numbered(key=ids)
    found = pair(data, released(data, ORDER), by=by)
    assert found.release.x[:, 0].tolist() == list(range(12))
    assert (found.release.x[:, 1] == 1).all()
    assert found.release.table["note"].equals(data.table["note"])
    assert found.notes[0] == "records were in another order; matched by column 'key'"


@given(seed=st.integers(0, 1000), n=st.integers(2, 40))
def test_whatever_the_order_each_record_finds_its_own(seed, n):
    data = numbered(n, key=np.random.default_rng(seed + 1).permutation(n))
    order = np.random.default_rng(seed).permutation(n)
    assert np.array_equal(pair(data, released(data, order)).release.x[:, 0], np.arange(n))


def test_an_id_that_is_given_goes_before_one_that_is_found():
    """A row number of the file itself is no id of a record."""
    data = numbered(row=np.arange(12), key=IDS["key"])
    shuffled = released(data, ORDER).with_column("row", pa.array(range(12)))
    assert np.array_equal(pair(data, shuffled.without(["row"])).release.x[:, 0], np.arange(12))
    with pytest.raises(UserError, match="has row '"):
        pair(data, shuffled, by="key")


def test_ids_of_other_types_are_the_same_text():
    data = numbered(key=[i * 5 % 12 for i in range(12)])
    other = released(data, ORDER)
    texts = pa.array([str(v) for v in other.table["key"].to_pylist()])
    found = pair(data, other.with_column("key", texts), by="key")
    assert found.release.x[:, 0].tolist() == list(range(12))


def test_equal_order_passes_without_an_id():
    data = numbered()
    found = pair(data, released(data))
    assert found.notes == ()
    assert found.same_space
    assert not found.identical


def test_what_may_differ():
    """Measures may have been rounded, labels left out, columns dropped, the split drawn anew."""
    data = numbered(height=np.arange(12) / 7, split=["train"] * 12)
    other = released(data).with_column("height", pa.array((np.arange(12) / 7).round(1)))
    other = other.with_column("note", pa.array([None, *data.table["note"].to_pylist()[1:]]))
    other = other.with_column("split", pa.array(["test"] * 12)).without(["age"])
    assert pair(data, other).notes == ()


@pytest.mark.parametrize("kind", [pa.float64(), pa.int16(), pa.string()])
def test_the_same_values_in_another_type_are_the_same(kind):
    data = numbered()
    other = released(data).with_column("age", data.table["age"].combine_chunks().cast(kind))
    assert pair(data, other).notes == ()


# --- notes ---


def test_other_features_are_noted():
    data = numbered()
    other = Dataset.from_arrays(np.ones((12, 5)), data.table)
    found = pair(data, other)
    assert not found.same_space
    assert not found.identical
    assert "the release has 5 features and the original 2" in found.notes[0]


def test_a_release_that_changed_nothing_is_noted():
    data = numbered()
    assert pair(data, data).identical
    assert pair(data, data).notes == ("the release is the original: nothing was changed",)


# --- mistakes ---


def test_another_number_of_records():
    data = numbered()
    with pytest.raises(
        UserError, match="original has 12 records and release 10; a release has the"
    ):
        pair(data, released(data, range(10)))


def test_an_id_column_that_is_not_there():
    data = numbered(key=IDS["key"])
    with pytest.raises(
        UserError, match=r"id column 'kye' is not in original; did you mean 'key'\?"
    ):
        pair(data, released(data), by="kye")
    with pytest.raises(UserError, match="id column 'key' is not in release"):
        pair(data, released(data).without(["key"]), by="key")


def test_ids_that_one_side_lacks():
    data = numbered(key=IDS["key"])
    others = pa.array([*(f"r{i}" for i in range(10)), "x1", "x2"])
    with pytest.raises(UserError, match=r"2 ids of original are not in release, such as 'r1[01]'"):
        pair(data, released(data).with_column("key", others), by="key")


@pytest.mark.parametrize("side", ["original", "release"])
def test_an_id_that_is_there_twice_or_null(side):
    data = numbered(key=IDS["key"])
    for ids, what in (
        (["r1", *IDS["key"][1:]], "has 'r1' more than once"),
        ([None, *IDS["key"][1:]], "is null in some records"),
    ):
        odd = {"original": data, "release": released(data)}
        odd[side] = odd[side].with_column("key", pa.array(ids))
        with pytest.raises(UserError, match=f"id column 'key' of {side} {what}"):
            pair(odd["original"], odd["release"], by="key")


def test_shuffled_rows_without_an_id_are_refused_and_the_row_is_named():
    data = numbered()
    order = [0, 1, 3, 2, *range(4, 12)]
    with pytest.raises(UserError) as error:
        pair(data, released(data, order))
    said = str(error.value)
    assert said.startswith("record 2 (the first is 0) has age '22' in original and '23' in release")
    assert "another order" in said
    assert "--id" in said


def test_a_column_that_was_changed_is_named_and_not_taken_for_another_order():
    data = numbered()
    changed = released(data).with_column("age", pa.array([99, *range(11)]))
    with pytest.raises(UserError, match=r"record 0 .* '99' in release: leave column 'age' out"):
        pair(data, changed)


def test_an_id_does_not_excuse_labels_that_contradict():
    data = numbered(key=IDS["key"])
    lie = released(data, ORDER).with_column("age", pa.array(np.arange(12) % 5 + 20))
    with pytest.raises(UserError, match="has age '"):
        pair(data, lie, by="key")


def test_columns_that_are_no_text_are_no_stumbling_block():
    data = numbered(raw=pa.array([bytes([255, i]) for i in range(12)]), tags=[["a"]] * 12)
    assert pair(data, released(data)).notes == ()
    assert np.array_equal(
        pair(data, released(data, ORDER), by="raw").release.x[:, 0], np.arange(12)
    )


# --- releases that share no column with their original ---


def bare(x, order=None):
    kept = x if order is None else x[order]
    return Dataset.from_arrays(kept, {"other": np.arange(len(x)) % 3}, name="bare.parquet")


def test_a_shuffled_release_without_any_common_column_is_refused():
    """It would be found to hide everything."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 6))
    original = Dataset.from_arrays(x, {"secret": np.arange(300) % 2})
    noisy = (x + 0.5 * rng.standard_normal(x.shape)).astype(np.float32)
    assert any("share no column" in note for note in pair(original, bare(noisy)).notes)
    shuffled = bare(noisy, rng.permutation(300))
    with pytest.raises(UserError, match=r"were the rows shuffled.*--same-order"):
        pair(original, shuffled)
    pair(original, shuffled, same_order=True)
    with pytest.raises(UserError, match="--same-order"):
        pair(original, bare(-x))  # nobody can tell, so somebody has to vouch
    pair(original, bare(np.zeros_like(x)))  # in any order the same


def test_an_order_that_is_vouched_for_and_looks_wrong_is_noted():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 6))
    original = Dataset.from_arrays(x, {"secret": np.arange(300) % 2})
    [note] = pair(original, bare(x, rng.permutation(300)), same_order=True).notes
    assert "if it is wrong, every figure of the release is too low" in note
    assert pair(original, bare(x + np.float32(0.1)), same_order=True).notes == ()


# --- files that were renamed, and releases that lack some records ---


def test_names_of_files_may_differ_where_the_order_is_vouched_for():
    data = numbered(file=[f"anna_{i}" for i in range(12)])
    renamed = released(data).with_column("file", pa.array([f"face {i}" for i in range(12)]))
    with pytest.raises(
        UserError, match=r"12 ids .* are not in release.*with --names; .*--same-order"
    ):
        pair(data, renamed)
    found = pair(data, renamed, same_order=True)
    assert found.release.x[:, 0].tolist() == list(range(12))
    other = renamed.with_column("age", pa.array([99, *range(11)]))
    with pytest.raises(UserError, match="has age '"):
        pair(data, other, same_order=True)


def test_our_own_numbers_are_dealt_out_at_random_and_nobody_can_vouch_for_them():
    data = numbered(file=[f"anna_{i}" for i in range(12)])
    names = [f"{i:08d}" for i in range(12)]
    ours = released(data).with_column("file", pa.array(names))
    with pytest.raises(UserError, match=r"numbers files at random.*with --names"):
        pair(data, ours, same_order=True)
    # Originals that are called so themselves.
    same = data.with_column("file", pa.array(names))
    assert pair(same, ours, same_order=True).notes == ()


def test_a_vouched_order_is_not_changed_by_a_column_that_looks_like_an_id():
    """Numbers of files that were dealt out anew: the same values in another order."""
    data = numbered(file=[str(i) for i in range(12)])
    renamed = released(data).with_column("file", pa.array([str(i) for i in ORDER]))
    assert pair(data, renamed, same_order=True).release.x[:, 0].tolist() == list(range(12))
    with pytest.raises(UserError, match="has age '"):
        pair(data, renamed)


@given(seed=st.integers(0, 1000))
def test_matching_keeps_order_labels_and_split(seed):
    rng = np.random.default_rng(seed)
    parts = np.array(["train", "val", "test"])[np.arange(12) % 3].tolist()
    data = numbered(key=IDS["key"], split=parts)
    kept = rng.permutation(12)[: rng.integers(1, 13)]
    found = matching(data, released(data, kept), "key")
    rows = np.sort(kept)
    assert found.x[:, 0].tolist() == rows.tolist()
    for name in data.table.column_names:
        assert found.table[name].to_pylist() == data.table[name].take(pa.array(rows)).to_pylist()
    assert pair(found, released(data, kept), by="key").release.x[:, 0].tolist() == rows.tolist()


def test_matching_of_all_is_the_original_and_of_none_is_refused():
    data = numbered(key=IDS["key"])
    assert matching(data, released(data, ORDER), "key") is data
    with pytest.raises(
        UserError, match="no 'key' of original is in release, such as 'r0'; are they the same"
    ):
        matching(data, numbered(key=[f"q{i}" for i in range(12)], name="release"), "key")
    with pytest.raises(UserError, match="id column 'kee' is not in original; did you mean 'key'"):
        matching(data, data, "kee")
    with pytest.raises(UserError, match="id column 'key' is not in release"):
        matching(data, numbered(name="release"), "key")


def test_records_that_only_the_release_has_are_refused():
    data = numbered(key=IDS["key"])
    fewer = data.rows(np.arange(10))
    assert matching(fewer, released(data), "key") is fewer
    with pytest.raises(UserError, match="original has 10 records and release 12"):
        pair(fewer, released(data), by="key")


# --- lists of rows ---


def listed(x, rows) -> ReleasedDataset:
    read = bare(x)
    return ReleasedDataset(
        **{f.name: getattr(read, f.name) for f in fields(Dataset)}, original_rows=rows
    )


def test_a_list_of_rows_that_the_records_contradict_is_refused():
    """The list of an older, shuffled release beside a newer one in the order of the original."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 6))
    order = rng.permutation(300)
    original = Dataset.from_arrays(x, {"secret": np.arange(300) % 2})
    noisy = (x + 0.3 * rng.standard_normal(x.shape)).astype(np.float32)
    with pytest.raises(UserError, match=r"list of rows of .* does not fit"):
        pair(original, listed(noisy, order))
    right = pair(original, listed(noisy[order], order))
    assert np.array_equal(right.release.x, noisy)
    assert right.notes == ("records were in a random order; matched by the list of rows",)
    other = pair(original, listed(noisy[rng.permutation(300)], order))
    assert "if the list is wrong, every figure of the release is too low" in other.notes[1]


def test_codes_need_not_lie_near_their_originals():
    rng = np.random.default_rng(0)
    original = Dataset.from_arrays(rng.standard_normal((300, 6)), {"secret": np.arange(300) % 2})
    codes = rng.standard_normal((8, 6)).astype(np.float32)[rng.integers(0, 8, 300)]
    assert len(pair(original, listed(codes, rng.permutation(300))).notes) == 1
