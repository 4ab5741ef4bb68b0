from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from withhold.core.errors import UserError
from withhold.records.readers import FeatureLayout, load_features, open_source

X = np.arange(6, dtype=np.float32).reshape(3, 2)
WORDS = ["a", None, "b"]
FRAMES = {
    "pandas": pd.DataFrame({"x": list(X), "word": WORDS, "n": [1, 2, 3]}, index=[7, 8, 9]),
    "polars": pl.DataFrame({"x": X, "word": WORDS, "n": [1, 2, 3]}),
    "polars lists": pl.DataFrame({"x": X.tolist(), "word": WORDS, "n": [1, 2, 3]}),
    "table": pa.table({"x": X.tolist(), "word": WORDS, "n": [1, 2, 3]}),
    "batch": pa.record_batch({"x": X.tolist(), "word": WORDS, "n": [1, 2, 3]}),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("rows", [1, 2, 4096])
def test_every_frame_reads_the_same(kind, rows, read):
    table = read(FRAMES[kind], rows=rows)
    assert table.column_names == ["x", "word", "n"]
    assert table["word"].to_pylist() == WORDS
    assert table["n"].to_pylist() == [1, 2, 3]
    source = open_source(FRAMES[kind])
    layout = FeatureLayout.resolve(source.schema, name=source.name)
    assert np.array_equal(load_features(source, layout, rows=rows), X)


def test_categories(read):
    words = ["u", None, "u"]
    for frame in (
        pd.DataFrame({"c": pd.Categorical(words)}),
        pl.DataFrame({"c": pl.Series(words, dtype=pl.Categorical)}),
    ):
        assert read(frame)["c"].to_pylist() == words


def test_a_sliced_table_is_not_copied():
    table = pa.table({"a": np.arange(100.0)}).slice(10, 20)
    batch = next(open_source(table).batches(rows=7))
    assert batch["a"].to_pylist() == list(np.arange(10.0, 17.0))
    original = table["a"].chunk(0).buffers()[1].address
    assert batch["a"].buffers()[1].address == original


def test_mistakes():
    with pytest.raises(UserError, match="the pandas frame has no rows"):
        open_source(pd.DataFrame({"a": []}))
    with pytest.raises(UserError, match=r"the pandas frame cannot be read.*column mixed") as caught:
        open_source(pd.DataFrame({"mixed": [1, "a", 2.5]}, dtype=object))
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match="two columns with one name"):
        open_source(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_heavy_packages_are_not_imported():
    script = (
        "import sys, withhold.records.readers\n"
        "assert not {'pandas', 'polars', 'torch'} & set(sys.modules), list(sys.modules)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
