from __future__ import annotations

import zipfile

import numpy as np
import pyarrow as pa
import pytest

from withhold.core.errors import UserError
from withhold.records.readers import open_source
from withhold.records.writers import open_sink

RNG = np.random.default_rng(0)


def said(path) -> str:
    with pytest.raises(UserError) as caught:
        list(open_source(path).batches())
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("rows", [1, 7, 4096])
def test_arrays_become_columns(tmp_path, save, rows, read):
    arrays = {
        "x": RNG.standard_normal((20, 3)),
        "fortran": np.asfortranarray(RNG.standard_normal((20, 2)).astype(np.float32)),
        "big": RNG.standard_normal((20, 2)).astype(">f4"),
        "labels": RNG.random((20, 4)) < 0.5,
        "bits": RNG.integers(0, 2, (20, 2), dtype=np.uint8),
        "digit": RNG.integers(0, 10, 20).astype(">i4"),
        "flag": RNG.random(20) < 0.5,
        "height": np.where(np.arange(20) == 3, np.nan, 1.5),
        "word": np.array(["", "ä", "bcd", "e"] * 5),
        "code": np.array([b"", b"a", b"b", b"c"] * 5),
        "day": np.array(["2024-01-01", "NaT"] * 10, "M8[D]"),
    }
    save(tmp_path / "t.npz", **arrays)
    got = read(tmp_path / "t.npz", rows=rows)
    assert got.column_names == list(arrays)
    for name in ("x", "fortran", "big", "labels", "bits"):
        kind = got.schema.field(name).type
        assert kind.list_size == arrays[name].shape[1]
        expected = arrays[name].astype(kind.value_type.to_pandas_dtype())
        assert np.array_equal(np.array(got[name].to_pylist()), expected)
    assert got.schema.field("x").type.value_type == pa.float32()
    assert got.schema.field("labels").type.value_type == pa.bool_()
    assert got.schema.field("bits").type.value_type == pa.uint8()
    assert got["digit"].to_pylist() == arrays["digit"].tolist()
    assert got["flag"].to_pylist() == arrays["flag"].tolist()
    assert got["height"].to_pylist() == [None if i == 3 else 1.5 for i in range(20)]
    assert got["word"].to_pylist() == [None, "ä", "bcd", "e"] * 5
    assert got["code"].to_pylist() == [None, "a", "b", "c"] * 5
    assert got["day"].null_count == 10


def test_round_trip_with_nulls(tmp_path, write, read, list_table):
    path = write(list_table, tmp_path / "t.npz", rows=7)
    got = read(path)
    # Integers and booleans with nulls come back as reals, all else as it was.
    assert got.schema.field("age").type == pa.float64()
    assert got.schema.field("loud").type == pa.float32()
    assert got.to_pylist() == list_table.to_pylist()
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["x"].dtype == np.float32
        assert np.array_equal(arrays["x"], np.array(list_table["x"].to_pylist(), np.float32))


def test_round_trip_of_lists(tmp_path, write, read):
    table = pa.table(
        {
            "labels": pa.array([[True, False], [False, True]], pa.list_(pa.bool_(), 2)),
            "loose": pa.array([[1.0, 2.0], [3.0, 4.0]]),
            "counts": pa.array([[1, 2], [3, 4]], pa.list_(pa.int16(), 2)),
        }
    )
    assert read(write(table, tmp_path / "t.npz", rows=1)).to_pylist() == table.to_pylist()


def test_missing_in_lists(tmp_path, write):
    table = pa.table(
        {
            "x": pa.array([[1.0, 2.0], None, [None, 3.0]], pa.list_(pa.float32(), 2)),
            "labels": pa.array([[True, False], None, [None, True]], pa.list_(pa.bool_(), 2)),
            "ids": pa.array([[1, 2], None, [None, 3]], pa.list_(pa.int64(), 2)),
        }
    )
    stored = []
    for rows in (1, 2, 3):
        with np.load(write(table, tmp_path / f"{rows}.npz", rows=rows)) as arrays:
            stored.append({name: arrays[name] for name in arrays})
    nan = np.nan
    for arrays in stored:
        assert np.array_equal(arrays["x"], [[1, 2], [nan, nan], [nan, 3]], equal_nan=True)
        assert np.array_equal(arrays["labels"], [[1, 0], [nan, nan], [nan, 1]], equal_nan=True)
        assert arrays["labels"].dtype == np.float32
        assert np.array_equal(arrays["ids"], [[1, 2], [nan, nan], [nan, 3]], equal_nan=True)
        assert arrays["ids"].dtype == np.float64


def test_other_columns(tmp_path, write, read):
    table = pa.table(
        {
            "kind": pa.array(["u", None, "v"]).dictionary_encode(),
            "none": pa.nulls(3),
            "time": pa.array([1, None, 3], pa.timestamp("ms")),
            "day": pa.array([1, None, 3], pa.date32()),
            "half": pa.array([0.5, None, 1.5], pa.float16()),
            "flag": pa.array([True, False, True]),
            "large": pa.array(["a", None, "bb"], pa.large_string()),
        }
    )
    assert read(write(table, tmp_path / "t.npz", rows=2)).to_pylist() == table.to_pylist()


def test_no_time_stamps(tmp_path, write, list_table):
    with zipfile.ZipFile(write(list_table, tmp_path / "t.npz")) as archive:
        for info in archive.infolist():
            assert info.date_time == (1980, 1, 1, 0, 0, 0)
            assert info.compress_type == zipfile.ZIP_STORED


class TestMistakes:
    def test_objects(self, tmp_path):
        np.savez(tmp_path / "t.npz", a=np.array(["a", None], dtype=object), allow_pickle=True)
        assert "'a' has Python objects" in said(tmp_path / "t.npz")

    def test_lengths(self, tmp_path):
        np.savez(tmp_path / "t.npz", x=np.zeros((3, 2)), y=np.zeros(4))
        assert "'y' has 4 rows, but 'x' has 3" in said(tmp_path / "t.npz")

    @pytest.mark.parametrize(
        "array", [np.zeros((2, 2, 2)), np.float32(1), np.zeros(2, complex), np.array([["a"]])]
    )
    def test_shapes(self, tmp_path, array):
        np.savez(tmp_path / "t.npz", a=array)
        assert "array 'a' is" in said(tmp_path / "t.npz")

    def test_cut_short(self, tmp_path):
        np.savez(tmp_path / "t.npz", x=np.zeros((300, 2)))
        whole = (tmp_path / "t.npz").read_bytes()
        (tmp_path / "t.npz").write_bytes(whole[: len(whole) // 2])
        assert "is not an NPZ file, or was cut short" in said(tmp_path / "t.npz")

    def test_damaged(self, tmp_path):
        np.savez(tmp_path / "t.npz", x=np.zeros((300, 2)))
        whole = bytearray((tmp_path / "t.npz").read_bytes())
        whole[1000] ^= 255
        (tmp_path / "t.npz").write_bytes(whole)
        assert "write it again" in said(tmp_path / "t.npz")

    def test_not_an_array(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
            archive.writestr("notes.txt", "hello")
        assert "'notes.txt', which is not an array" in said(tmp_path / "t.npz")
        with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
            archive.writestr("a.npy", "hello, not numpy")
        assert "'a' is not a numpy array" in said(tmp_path / "t.npz")

    def test_ragged_lists(self, tmp_path, write):
        with pytest.raises(UserError, match=r"'x' of t.npz has lists of different lengths"):
            write(pa.table({"x": [[1.0], [1.0, 2.0]]}), tmp_path / "t.npz", rows=1)
        assert not list(tmp_path.iterdir())

    def test_structs(self, tmp_path):
        with pytest.raises(UserError, match=r"cannot hold column 's'.*write .parquet"):
            open_sink(tmp_path / "t.npz", pa.schema([("s", pa.struct([("a", pa.int8())]))]))
