from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from withhold.core.errors import UserError
from withhold.records.readers import FeatureLayout

X = np.arange(12, dtype=np.float32).reshape(4, 3)
LISTS = {
    "fixed32": pa.list_(pa.float32(), 3),
    "fixed64": pa.list_(pa.float64(), 3),
    "fixed16": pa.list_(pa.float16(), 3),
    "integers": pa.list_(pa.int32(), 3),
    "list": pa.list_(pa.float32()),
    "large": pa.large_list(pa.float64()),
}


def batch_of(kind: pa.DataType, x: np.ndarray = X) -> pa.RecordBatch:
    values = pa.array(x.ravel(), kind.value_type, safe=False)
    if pa.types.is_fixed_size_list(kind):
        column = pa.FixedSizeListArray.from_arrays(values, type=kind)
    else:
        ends = np.arange(len(x) + 1) * x.shape[1]
        maker = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
        offsets = pa.array(ends, pa.int64() if maker is pa.LargeListArray else pa.int32())
        column = maker.from_arrays(offsets, values, type=kind)
    return pa.record_batch({"id": np.arange(len(x)), "x": column})


def layout_of(batch: pa.RecordBatch, spec: str = "x") -> FeatureLayout:
    return FeatureLayout.resolve(batch.schema, spec, name="t.parquet")


def said(batch: pa.RecordBatch, spec: str = "x", **options) -> str:
    with pytest.raises(UserError) as caught:
        layout_of(batch, spec).read(batch, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestResolve:
    def test_a_list_column(self):
        layout = layout_of(batch_of(LISTS["fixed32"]))
        assert (layout.columns, layout.dimension) == (("x",), 3)
        assert layout.names == ("x0", "x1", "x2")

    def test_a_list_of_unknown_length(self):
        layout = layout_of(batch_of(LISTS["list"]))
        assert (layout.dimension, layout.names) == (None, ())
        assert layout.with_dimension(3).names == ("x0", "x1", "x2")
        with pytest.raises(UserError, match="3 features, not 4"):
            layout.with_dimension(3).with_dimension(4)

    def test_wide_columns_in_the_order_of_the_file(self):
        batch = pa.record_batch({"age": [1], "f_b": [1.0], "name": ["n"], "f_a": [2.0]})
        layout = layout_of(batch, "f_*, age,f_a")
        assert layout.columns == layout.names == ("age", "f_b", "f_a")
        assert layout.dimension == 3

    def test_a_name_with_a_comma_or_a_star(self):
        batch = pa.record_batch({"a,b": [1.0], "f*": [2.0], "fx": [3.0]})
        assert layout_of(batch, "a,b").columns == ("a,b",)
        assert layout_of(batch, "f*").columns == ("f*",)

    def test_no_such_column(self):
        batch = pa.record_batch({"f_0": [1.0], "f_1": [1], "speaker": ["a"]})
        message = said(batch)
        assert message.startswith("feature column 'x' is not in t.parquet")
        assert "--features 'f_*'" in message
        assert "numeric columns: f_0, f_1" in message
        assert "did you mean 'f_1'?" in said(batch, "f_0,f1")
        assert "did you mean 'speaker'?" in said(batch, "speker")

    def test_the_list_column_is_offered(self):
        batch = pa.record_batch({"embedding": [[1.0]], "n": [1]})
        assert "--features embedding" in said(batch)

    def test_other_mistakes(self):
        batch = pa.record_batch({"x": [[1.0]], "f_0": [1.0], "word": ["a"], "flag": [True]})
        assert "no column of t.parquet matches 'g_*'" in said(batch, "g_*")
        assert "'word' of t.parquet is not numeric (string)" in said(batch, "word,f_0")
        assert "'flag' of t.parquet is not numeric (bool)" in said(batch, "f*")
        assert "mix the list column 'x' with others" in said(batch, "x,f_0")
        assert "no feature columns" in said(batch, " , ")
        words = pa.record_batch({"x": [["a"]]})
        assert "'x' of t.parquet is not numeric (list" in said(words)


@pytest.mark.parametrize("kind", LISTS)
class TestLists:
    def test_read(self, kind):
        batch = batch_of(LISTS[kind])
        x = layout_of(batch).read(batch)
        assert x.dtype == np.float32
        assert x.flags.c_contiguous
        assert np.array_equal(x, X)

    @pytest.mark.parametrize(("start", "length"), [(0, 2), (1, 2), (3, 1), (2, 0)])
    def test_sliced(self, kind, start, length):
        batch = batch_of(LISTS[kind]).slice(start, length)
        layout = layout_of(batch).with_dimension(3)
        assert np.array_equal(layout.read(batch), X[start : start + length])
        again = layout.write(batch, layout.read(batch) + 1)
        assert np.array_equal(layout.read(again), X[start : start + length] + 1)
        assert again["id"].equals(batch["id"])

    def test_out(self, kind):
        batch = batch_of(LISTS[kind])
        out = np.empty((10, 3), np.float32)[3:7]
        assert layout_of(batch).read(batch, out=out) is out
        assert np.array_equal(out, X)

    def test_write_keeps_types(self, kind):
        batch = batch_of(LISTS[kind])
        batch = batch.replace_schema_metadata({"kept": "1"})
        layout = layout_of(batch)
        again = layout.write(batch, X * 2)
        assert again.schema.equals(layout.release_schema(batch.schema), check_metadata=True)
        assert again.schema.metadata == {b"kept": b"1"}
        expected = pa.list_(pa.float32(), 3) if kind == "integers" else LISTS[kind]
        assert again.schema.field("x").type == expected
        assert np.array_equal(layout.read(again), X * 2)

    def test_a_missing_row(self, kind):
        values = X.astype(int).tolist()
        batch = pa.record_batch({"x": pa.array([*values[:2], None, values[3]], LISTS[kind])})
        assert "'x' of t.parquet is missing in row 12 " in said(batch, start_row=10)

    def test_a_missing_value(self, kind):
        values = X.astype(int).tolist()
        values[1][2] = None
        batch = pa.record_batch({"x": pa.array(values, LISTS[kind])})
        assert "has a missing value in row 1 " in said(batch)
        assert "has a missing value in row 0 " in said(batch.slice(1))


def test_float32_lists_are_not_copied():
    batch = batch_of(LISTS["fixed32"])
    x = layout_of(batch).read(batch.slice(1))
    values = batch["x"].values.buffers()[1]
    assert x.__array_interface__["data"][0] == values.address + 3 * 4


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(bad):
    x = X.copy()
    x[2, 1] = bad
    message = said(batch_of(LISTS["fixed32"], x), start_row=100)
    assert f"feature column 'x' of t.parquet is {bad:g} in row 102 " in message
    wide = pa.record_batch({"f_0": x[:, 0], "f_1": x[:, 1]})
    assert f"feature column 'f_1' of t.parquet is {bad:g} in row 2 " in said(wide, "f_*")


def test_a_double_beyond_float32_is_refused():
    wide = pa.record_batch({"f_0": [1.0, 1e300]})
    assert "is 1e+300, too large for float32 (double), in row 1" in said(wide, "f_0")


def test_unequal_lists_are_refused():
    batch = pa.record_batch({"x": [[1.0, 2.0], [1.0, 2.0], [1.0]]})
    assert "does not have 2 values in row 7 " in said(batch, start_row=5)
    layout = layout_of(batch).with_dimension(1)
    with pytest.raises(UserError, match="does not have 1 values in row 0"):
        layout.read(batch)
    fixed = batch_of(LISTS["fixed32"])
    with pytest.raises(UserError, match=r"3 values per row, but t.parquet has 1"):
        layout.read(fixed)


class TestWide:
    batch = pa.record_batch(
        {
            "f_0": pa.array([1, 2, 3], pa.int16()),
            "word": ["a", None, "c"],
            "f_1": pa.array([0.5, 1.5, 2.5], pa.float64()),
            "f_2": pa.array([7, 8, 9], pa.float32()),
        }
    )

    def test_read(self):
        x = layout_of(self.batch, "f_*").read(self.batch.slice(1))
        assert x.dtype == np.float32
        assert x.flags.c_contiguous
        assert x.tolist() == [[2, 1.5, 8], [3, 2.5, 9]]

    def test_write(self):
        layout = layout_of(self.batch, "f_*")
        batch = self.batch.slice(1)
        again = layout.write(batch, layout.read(batch) + 0.25)
        assert again.schema.equals(layout.release_schema(batch.schema))
        assert again.schema.types == [pa.float32(), pa.string(), pa.float64(), pa.float32()]
        assert again.to_pydict() == {
            "f_0": [2.25, 3.25],
            "word": [None, "c"],
            "f_1": [1.75, 2.75],
            "f_2": [8.25, 9.25],
        }

    def test_missing(self):
        batch = pa.record_batch({"f_0": [1.0, 2.0], "f_1": [1.0, None]})
        assert "feature column 'f_1' of t.parquet is missing in row 1 " in said(batch, "f_*")


def test_write_refuses_another_shape():
    batch = batch_of(LISTS["fixed32"])
    with pytest.raises(ValueError, match="the batch needs"):
        layout_of(batch).write(batch, X[:, :2])


def test_halves_do_not_become_infinite():
    batch = batch_of(LISTS["fixed16"])
    with pytest.raises(UserError, match="too large for float16 in column 'x'"):
        layout_of(batch).write(batch, X * 1e6)


@settings(max_examples=60, deadline=None)
@given(
    x=hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 8), st.integers(1, 5)),
        elements=st.floats(-1e6, 1e6, width=32),
    ),
    kind=st.sampled_from(["fixed", "list", "large", "wide"]),
    start=st.integers(0, 7),
)
def test_write_then_read_gives_x(x, kind, start):
    d = x.shape[1]
    if kind == "wide":
        batch = pa.record_batch({f"f_{i}": np.zeros(len(x)) for i in range(d)})
        layout = layout_of(batch, "f_*")
    else:
        types = {
            "fixed": pa.list_(pa.float32(), d),
            "list": pa.list_(pa.float32()),
            "large": pa.large_list(pa.float64()),
        }
        batch = batch_of(types[kind], np.zeros_like(x))
        layout = layout_of(batch).with_dimension(d)
    released = layout.write(batch, x)
    assert np.array_equal(layout.read(released), x)
    assert np.array_equal(layout.read(released.slice(start)), x[start:])
