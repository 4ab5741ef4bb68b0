"""A dataset as Python, pandas, PyTorch and a notebook see it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from torch.utils.data import DataLoader

from support import codes, mixed
from withhold import Dataset, Suppressor
from withhold.core.errors import UserError
from withhold.release.released_dataset import ReleasedDataset


@pytest.fixture(scope="module")
def data() -> Dataset:
    return mixed(50)


def wide() -> Dataset:
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    return Dataset.from_arrays(x, {"word": ["u", None, "v"]}, names=["a", "b"], name="wide")


# --- Python -----------------------------------------------------------------------------------


def test_one_record_is_a_mapping_of_its_columns(data: Dataset) -> None:
    record = data[3]
    assert list(record) == data.schema.names
    np.testing.assert_array_equal(record["x"], data.x[3])
    assert record["colour"] == data.table["colour"][3].as_py()
    assert record["tags"] == data.table["tags"][3].as_py()
    assert wide()[np.int64(1)] == {"a": 2.0, "b": 3.0, "word": None}
    assert data[-1]["id"] == f"record {len(data) - 1}"


def test_a_record_is_a_copy(data: Dataset) -> None:
    before = data.x[0].copy()
    data[0]["x"][:] = 0
    np.testing.assert_array_equal(data.x[0], before)


def test_iteration_is_indexing_over_the_borders_of_batches() -> None:
    many = mixed(1030)
    seen = list(many)
    assert [r["id"] for r in seen] == [f"record {i}" for i in range(1030)]
    for i in (0, 1023, 1024, 1029):
        np.testing.assert_array_equal(seen[i]["x"], many.x[i])
        assert seen[i]["colour"] == many[i]["colour"]


@pytest.mark.parametrize(
    "which",
    [slice(5, 20, 3), slice(None, None, -1), slice(40, None), [4, -1, 4], np.array([2, 0])],
    ids=str,
)
def test_slices_and_rows_are_datasets(data: Dataset, which: object) -> None:
    some = data[which]  # type: ignore[index]
    assert type(some) is Dataset
    rows = np.arange(50)[which]  # type: ignore[index]
    np.testing.assert_array_equal(some.x, data.x[rows])
    assert some.table["id"].to_pylist() == [f"record {i}" for i in rows]
    # codes mean the same as in the whole
    np.testing.assert_array_equal(codes(some, "colour"), codes(data, "colour")[rows])


def test_masks_and_nothing(data: Dataset) -> None:
    mask = data.x[:, 0] > 0
    np.testing.assert_array_equal(data[mask].x, data.x[mask])
    np.testing.assert_array_equal(data[mask.tolist()].x, data.x[mask])
    assert len(data[[]]) == len(data[10:10]) == 0


def test_what_cannot_be_chosen_is_told(data: Dataset) -> None:
    for row in (50, -51, [3, 50]):
        with pytest.raises(IndexError, match="the dataset has 50"):
            data[row]  # type: ignore[call-overload]
    with pytest.raises(IndexError, match="mask has 3 values, the dataset 50"):
        data[np.array([True, False, True])]
    for odd in ("colour", 1.0, None, True, np.zeros((2, 2), int)):
        with pytest.raises(TypeError, match=r"data\.attribute\('name'\)"):
            data[odd]  # type: ignore[call-overload]


def test_a_release_is_sliced_with_its_rows_and_without_its_certificate(data: Dataset) -> None:
    release = Suppressor(["colour"], method="constant").fit_transform(data)
    assert release.certificate is not None
    some = release[10:20]
    assert isinstance(some, ReleasedDataset)
    assert some.certificate is None
    np.testing.assert_array_equal(some.original_rows, release.original_rows[10:20])
    assert "colour" not in release[0]
    assert "colour" not in release.to_pandas()


# --- pandas -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["list", "wide"])
def test_a_frame_is_what_the_file_would_be(data: Dataset, kind: str, tmp_path: Path) -> None:
    one = data if kind == "list" else wide()
    one.write(tmp_path / "data.parquet")
    frame = one.to_pandas()
    pd.testing.assert_frame_equal(frame, pd.read_parquet(tmp_path / "data.parquet"))
    back = Dataset.read(frame, features="x" if kind == "list" else ["a", "b"])
    np.testing.assert_array_equal(back.x, one.x)
    assert back.attribute_names == one.attribute_names


def test_records_without_attributes_make_a_frame_too() -> None:
    assert Dataset.from_arrays(np.zeros((3, 1)), names=["a"]).to_pandas().shape == (3, 1)


# --- PyTorch ----------------------------------------------------------------------------------


def test_pairs_for_a_data_loader(data: Dataset) -> None:
    pairs = data.to_torch("colour")
    assert isinstance(pairs, torch.utils.data.Dataset)
    assert len(pairs) == 50
    x, label = pairs[7]
    assert (x.dtype, label.dtype) == (torch.float32, torch.int64)
    np.testing.assert_array_equal(x.numpy(), data.x[7])
    assert data.attribute("colour").classes[int(label)] == data[7]["colour"]
    batches = list(DataLoader(pairs, batch_size=20))
    assert [len(y) for _, y in batches] == [20, 20, 10]
    np.testing.assert_array_equal(torch.cat([y for _, y in batches]).numpy(), codes(data, "colour"))


def test_all_labels_by_name_and_missing_ones() -> None:
    data = mixed()
    _, labels = next(iter(DataLoader(data.to_torch(), batch_size=len(data))))
    assert set(labels) == set(data.labels())  # not the id
    assert "id" not in labels
    np.testing.assert_array_equal(labels["tags"].numpy(), codes(data, "tags"))
    missing = np.array([v is None for v in data.table["secret"].to_pylist()])
    assert missing.any()
    np.testing.assert_array_equal(labels["secret"].numpy() == -1, missing)
    assert set(data.to_torch(["colour"])[0][1]) == {"colour"}
    with pytest.raises(UserError, match="did you mean 'colour'"):
        data.to_torch("color")
    with pytest.raises(UserError, match="'id'"):
        data.to_torch("id")


def test_features_that_cannot_be_written_are_copied(data: Dataset) -> None:
    x = data.x.copy()
    x.flags.writeable = False
    view = Dataset.from_arrays(x).to_torch()  # torch warns of read-only arrays, an error in tests
    np.testing.assert_array_equal(view[2][0].numpy(), data.x[2])


# --- display ----------------------------------------------------------------------------------


def test_repr_is_one_short_line(data: Dataset) -> None:
    assert repr(data) == (
        "Dataset(mixed: 50 records, 7 features; attributes: secret, colour, tags, id;"
        " split: train 30, val 10, test 10)"
    )
    assert repr(wide()) == "Dataset(wide: 3 records, 2 features; attributes: word)"


def test_repr_of_a_release_does_not_show_the_key(data: Dataset) -> None:
    key = bytes(range(65, 97))
    release = Suppressor(["colour"], method="noise", key=key).fit_transform(data)
    assert repr(release).startswith("ReleasedDataset(")
    for shown in (repr(release), release._repr_html_()):
        assert key.decode() not in shown
        assert key.hex() not in shown


def test_a_notebook_shows_the_first_records(data: Dataset) -> None:
    html = data._repr_html_()
    assert html.count("<tr>") == 6
    assert "record 4" in html
    assert "record 5" not in html
    assert "… 45 more records" in html
    heads = re.findall("<th>(.*?)</th>", html)
    assert heads == ["x0", "x1", "x2", "… 4 more", "secret", "colour", "tags", "id", "split"]
    assert "more" not in wide()._repr_html_()


def test_a_notebook_runs_nothing_that_the_data_says() -> None:
    bad = "<script>alert('1')</script>"
    data = Dataset.from_arrays(np.zeros((2, 1)), {f"a{bad}": [bad, bad + "&" * 100]}, name=bad)
    html = data._repr_html_()
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 5  # name of the data, of the column twice, two values
    assert "&amp;" * 40 not in html  # long values are cut


def test_a_series_is_no_table() -> None:
    with pytest.raises(UserError, match="cannot read a Series; give a path"):
        Dataset.read(pd.Series(["f", "m"]))


def test_repr_of_a_table_counts_rows() -> None:
    table = pa.table({"age": [20, 30], "sex": ["f", "m"]})
    assert ": 2 rows; attributes: age, sex)" in repr(Dataset.read(table, kind="table"))
