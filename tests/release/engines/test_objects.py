"""Datasets of other libraries: the same rows leave, in the same order, as from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import withhold as wh
from engine_support import check_rows, fitted, table, written
from withhold.bundle.bundle import Bundle
from withhold.certificate import plan_tally
from withhold.core.errors import UserError
from withhold.release.engines import batch_look, distributed

pytest.importorskip("datasets")
pytest.importorskip("dask.dataframe")


pytestmark = pytest.mark.usefixtures("less_monte_carlo")


@pytest.fixture(scope="module", autouse=True)
def _small() -> object:
    """Batches of a hundred rows, a sample of some rows, and no samples of a plan."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_tally, "_KEPT", 0)
        patch.setattr("withhold.release.engines.hugging_face.ROWS", 100)
        yield


@pytest.fixture(scope="module")
def data() -> pa.Table:
    return table()


@pytest.fixture(scope="module", params=["exact", "noise"])
def bundle(request: pytest.FixtureRequest, data: pa.Table) -> Bundle:
    return fitted(request.param, data)


@pytest.fixture(scope="module")
def folder(bundle: Bundle, data: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("file")
    written(bundle, data, made)
    return made


def test_a_hugging_face_dataset(bundle: Bundle, data: pa.Table, folder: Path) -> None:
    import datasets

    found = wh.engines.hugging_face.release(datasets.Dataset(data), bundle)
    check_rows(found, found.data.with_format("arrow")[:], folder)


def test_a_dask_frame(bundle: Bundle, data: pa.Table, folder: Path) -> None:
    import dask
    import dask.dataframe as dd

    with dask.config.set({"dataframe.convert-string": False, "scheduler": "synchronous"}):
        frame = dd.from_pandas(data.to_pandas(), npartitions=3)
        found = wh.engines.dask.release(frame, bundle)
        rows = pa.Table.from_pandas(found.data.compute(), preserve_index=False)
    check_rows(found, rows, folder)


def test_the_sample_is_the_one_of_a_file_for_any_batches(
    data: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rows are many, each batch shows a few, and all together the smallest digests."""
    from withhold.release import survey

    monkeypatch.setattr(batch_look, "MOST", 40)
    monkeypatch.setattr(batch_look, "WIDE", 10)
    monkeypatch.setattr(survey, "MOST", 40)
    monkeypatch.setattr(survey, "WIDE", 10)
    noise = fitted("noise", data)
    todo = distributed.DistributedRelease(
        noise, data.schema, wh.release.wishes.Wishes(), features=None, shape="code", name="it"
    )
    x, others = todo.digests.parts(data.combine_chunks().to_batches()[0])
    whole = survey.survey([(x, others)], noise.modifier.key)
    look = batch_look.BatchLook.of(todo.digests, len(data))
    assert look.flat < 0.5
    for size in (600, 64):
        looks = [look(data.slice(at, size)) for at in range(0, len(data), size)]
        found = batch_look.Looked.of(reversed(looks))
        assert found.enough
        assert found.records == len(data)
        assert sorted(found.survey.table["id"].to_pylist()) == sorted(whole.table["id"].to_pylist())
        np.testing.assert_array_equal(found.survey.x, whole.x)
    few = batch_look.BatchLook(todo.digests, 0.01, 0.001)
    assert not batch_look.Looked.of([few(data)]).enough


def test_a_dataset_with_our_own_columns_is_refused(data: pa.Table) -> None:
    import datasets

    taken = data.append_column("__withhold_place", data["id"])
    with pytest.raises(UserError, match="rename it"):
        wh.engines.hugging_face.release(datasets.Dataset(taken), fitted("noise", data))
