"""Pairings with strangers, which would make any release look private."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from withhold.actions.fit import fit_bundle
from withhold.audit.pairing import pair
from withhold.audit.pairing_evidence import are_exchanged
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.release.released_dataset import with_rows


def shifted(n: int, seed: int) -> Dataset:
    """Records of two classes, six deviations apart."""
    rng = np.random.default_rng(seed)
    g = rng.integers(0, 2, n)
    x = rng.standard_normal((n, 4)) + 6 * g[:, None]
    return Dataset.from_arrays(x, {"gender": g, "row": np.arange(n)}, name="original")


@pytest.mark.parametrize("by", [None, "row"])
@pytest.mark.parametrize(
    ("step", "text"), [(1, False), (1, True), (2, False), (-1, False), (3, False)]
)
def test_an_index_that_was_written_anew_is_no_id(by, step, text):
    """A release that hides nothing, shuffled and numbered again, as a frame is written."""
    data = shifted(300, 0)
    data = data.without(["row"]).with_column("row", pa.array(step * np.arange(300)))
    order = np.random.default_rng(1).permutation(300)
    row = step * np.arange(300)
    row = [str(i) for i in row] if text else row
    if step == 3:  # as text with a start of its own
        row = [f"r{i:04d}" for i in range(300)]
        data = data.without(["row"]).with_column("row", pa.array(row))
    anew = Dataset.from_arrays(data.x[order] + 0.1, {"row": row}, name="release")
    with pytest.raises(UserError, match="only numbers the rows"):
        pair(data, anew, by=by)
    kept = Dataset.from_arrays(
        data.x[order] + 0.1, {"row": data.table["row"].take(pa.array(order))}
    )
    assert np.allclose(pair(data, kept, by=by).release.x, data.x + 0.1)
    same = Dataset.from_arrays(data.x + 0.1, {"row": row})
    assert np.allclose(pair(data, same, by=by).release.x, data.x + 0.1)


def test_a_release_knows_the_order_of_its_original(tmp_path):
    """The same records in another order would be paired with strangers."""
    data = shifted(200, 2)
    made = fit_bundle(data, Roles.of("gender"), method="noise")
    made.release(data.without(["row"])).write(tmp_path / "r.parquet")
    again = with_rows(Dataset.read(tmp_path / "r.parquet"), tmp_path / "r.parquet")
    assert pair(data, again).notes
    for rows in (np.arange(200)[::-1], np.argsort(data.attribute("gender").codes, kind="stable")):
        with pytest.raises(UserError, match="other data than original, or from the same"):
            pair(data.rows(rows.copy()), again)
        with pytest.raises(UserError, match="other data than"):
            pair(data.rows(rows.copy()), made.release(data))


def test_ids_in_one_sequence_that_the_records_do_not_support_are_noted():
    """Names may be true and the release strong, or they were dealt out anew: nobody can tell."""
    data = shifted(300, 3).without(["row"])
    names = pa.array([f"{c}{i * i}" for i, c in enumerate("abc" * 100)])
    order = np.random.default_rng(1).permutation(300)
    named = data.with_column("name", names)
    anew = Dataset.from_arrays(data.x[order], {"name": names}, name="release")
    found = pair(named, anew)
    assert found.exchanged
    assert any("equal the original of another record" in n for n in found.notes)
    noisy = Dataset.from_arrays(data.x[order] + 0.1, {"name": names}, name="release")
    assert any(
        "no nearer to the originals with the same 'name'" in n for n in pair(named, noisy).notes
    )
    right = Dataset.from_arrays(data.x + 0.1, {"name": names}, name="release")
    assert not pair(named, right).notes
    assert not pair(named, right).doubtful


def test_records_are_exchanged_only_where_they_are_those_of_others():
    rng = np.random.default_rng(4)
    x = rng.standard_normal((200, 3)).astype(np.float32)
    order = rng.permutation(200)
    assert are_exchanged(x, x[order])
    assert are_exchanged(x, np.where(np.arange(200)[:, None] < 60, x[order], 0 * x))
    assert not are_exchanged(x, x)
    assert not are_exchanged(x, x[order] + 1)
    assert not are_exchanged(x, x[rng.integers(0, 20, 200)])  # 20 records as codes
    twice = np.repeat(x[:100], 2, axis=0)
    assert not are_exchanged(twice, twice[order])  # nobody can tell whose they are
