"""What becomes of a record does not depend on its batch, its place or its process."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine_support import Pickling, fitted, table, written
from withhold.bundle.bundle import Bundle
from withhold.certificate import plan_tally
from withhold.core.errors import RecordError, UserError
from withhold.core.progress import Silent
from withhold.learn.nets.device import core_count
from withhold.records.readers import open_source
from withhold.release.engines import open_engine
from withhold.release.engines.batch_modifier import BatchModifier
from withhold.release.engines.engine import InWorker, Refused
from withhold.release.engines.local_engine import LocalEngine
from withhold.release.stream import release_features
from withhold.release.wishes import Wishes

pytestmark = pytest.mark.usefixtures("less_monte_carlo")


@pytest.fixture(scope="module", autouse=True)
def _quick_certificate() -> object:
    """No samples of a plan: see tests/certificate/test_plan_tally.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_tally, "_KEPT", 0)
        yield


@pytest.fixture(scope="module")
def data() -> pa.Table:
    return table()


@pytest.fixture(scope="module", params=["exact", "noise"])
def bundle(request: pytest.FixtureRequest, data: pa.Table) -> Bundle:
    return fitted(request.param, data)


def test_the_files_are_the_same_through_pickle_and_for_any_row_groups(
    bundle: Bundle, data: pa.Table, tmp_path: Path
) -> None:
    local = written(bundle, data, tmp_path / "local", rows=128)
    other = written(bundle, data, tmp_path / "other", rows=128, engine=Pickling(), group=77)
    assert local == other
    assert {"out.parquet", "out.rows.csv"} <= set(local)
    names = pq.read_schema(tmp_path / "local" / "out.parquet").names
    assert not {"sex", "title", "id"} & set(names)


def test_a_record_becomes_the_same_in_any_batch(data: pa.Table, tmp_path: Path) -> None:
    noise = fitted("noise", data)
    noise.save(tmp_path / "bundle")
    modifier = BatchModifier(tmp_path / "bundle")
    whole = modifier(data)
    assert whole.column_names == ["x"]
    order = np.random.default_rng(0).permutation(len(data))
    shuffled = pickle.loads(pickle.dumps(modifier))(data.take(pa.array(order)))
    assert shuffled.equals(whole.take(pa.array(order)))
    pieces = [modifier(data.slice(at, 7)) for at in range(0, len(data), 7)]
    assert pa.concat_tables(pieces).combine_chunks().equals(whole.combine_chunks())
    assert modifier(data.slice(0, 0)).num_rows == 0


def test_rows_that_draw_by_themselves_need_their_numbers(data: pa.Table) -> None:
    with pytest.raises(UserError, match="digest and the number"):
        BatchModifier(fitted("exact", data))(data)


def test_a_bad_row_is_named_by_its_place_in_the_file(data: pa.Table, tmp_path: Path) -> None:
    noise = fitted("noise", data)
    x = np.array(data["x"].combine_chunks().flatten()).reshape(len(data), -1)
    x[300, 2] = np.nan
    bad = data.set_column(0, "x", pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), 6))
    pq.write_table(bad, tmp_path / "bad.parquet")
    messages = []
    for engine in (LocalEngine(), Pickling()):
        with pytest.raises(UserError, match="row 300") as caught:
            release_features(
                noise, open_source(tmp_path / "bad.parquet"), tmp_path / "out.parquet", Wishes(),
                features="x", progress=Silent(), rows=128, engine=engine,
            )  # fmt: skip
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_an_error_keeps_its_row_on_the_way_from_a_worker() -> None:
    def fail(_: int) -> None:
        raise RecordError(3, "is wrong")

    found = InWorker(fail)(0)
    assert isinstance(found, Refused)
    error = pickle.loads(pickle.dumps(found)).error()
    assert isinstance(error, RecordError)
    assert error.after(10).row == 13


def test_a_worker_gives_the_cores_back() -> None:
    before = core_count()
    assert InWorker(lambda _: core_count())(0) == 1
    assert core_count() == before


def test_local_workers_limit_the_cores() -> None:
    before = core_count()
    with open_engine("local", workers=1):
        assert core_count() == 1
    assert core_count() == before


@pytest.mark.parametrize(
    ("name", "workers", "message"),
    [("rey", None, "did you mean 'ray'"), ("local", 0, "at least 1")],
)
def test_an_unknown_engine_is_refused(name: str, workers: int | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        open_engine(name, workers=workers)
