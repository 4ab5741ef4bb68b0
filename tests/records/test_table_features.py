"""Features of an original and its release for an audit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from withhold.records.dataset import Dataset
from withhold.records.table_features import AS_RELEASED, attack_tables


@pytest.mark.parametrize(
    "kind", [pa.dictionary(pa.int8(), pa.string()), pa.string_view(), pa.string()]
)
def test_a_column_of_another_encoding_is_compared_by_its_values(kind: pa.DataType) -> None:
    rng = np.random.default_rng(0)
    job = pa.array(rng.choice(["nurse", "cook"], 60))
    own = {"sex": pa.array(["f", "m"] * 30), "pay": pa.array(rng.random(60))}
    coded = job.dictionary_encode() if pa.types.is_dictionary(kind) else job
    original = Dataset.read(pa.table({**own, "job": coded.cast(kind)}), kind="table")
    # A release has plain values, and not those of the same row.
    release = Dataset.read(pa.table({"pay": own["pay"], "job": job[::-1]}), kind="table")
    before, after = attack_tables(original, release, ["sex"])
    assert before.layout.columns == after.layout.columns == ("pay", "job")
    assert after.table.column_names == [f"pay{AS_RELEASED}", f"job{AS_RELEASED}"]
    assert np.array_equal(before.x[:, -1], after.x[::-1, -1])
