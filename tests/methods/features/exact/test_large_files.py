"""A fit of a file whose features are not read into memory, against the fit in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from methods.features.exact.planned import fitted, labels, plan_of, texts, unequal, world
from support import Recorder
from withhold.methods.features.codebook import robust
from withhold.methods.features.codebook.robust import robust_means
from withhold.methods.features.exact import ExactModifier, all_records
from withhold.methods.features.exact.all_records import AllRecords, sample_rows
from withhold.methods.features.exact.streamed_means import streamed_means
from withhold.records.dataset import Dataset
from withhold.records.readers import Source
from withhold.records.streamed import ROWS, StreamedDataset


class Counting(Source):
    """A source that remembers how many rows it was asked for at once."""

    def __init__(self, inner: Source) -> None:
        self.inner, self.name, self.schema = inner, inner.name, inner.schema
        self.num_rows, self.passes, self.largest = inner.num_rows, 0, 0

    def _read(self, rows: int, columns: list[str]) -> Iterator[pa.RecordBatch]:
        self.passes += 1
        self.largest = max(self.largest, rows)
        yield from self.inner.batches(rows=rows, columns=columns)


def on_disk(data: Dataset, folder: Path, columns: Sequence[str] = ("who",)) -> StreamedDataset:
    path = folder / "world.parquet"
    data.write(path)
    return StreamedDataset.open(path, columns)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return world((2500, 1800, 900))


@pytest.fixture(scope="module")
def streamed(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> StreamedDataset:
    return on_disk(data, tmp_path_factory.mktemp("large"), ("who", "word"))


@pytest.fixture(scope="module")
def both(data: Dataset, streamed: StreamedDataset) -> tuple[ExactModifier, ExactModifier]:
    """The fits in memory and from the file, where passes end at the same difference."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(all_records, "_CLOSE", 2e-3)
        patch.setattr(all_records, "_CLOSE_ON_SOME", 2e-3)
        return fitted(data), fitted(streamed)


def test_the_plan_is_that_of_the_fit_in_memory(both: tuple[ExactModifier, ExactModifier]) -> None:
    inside, outside = (made.plan for made in both)
    np.testing.assert_allclose(outside.potentials, inside.potentials, atol=1e-6)
    np.testing.assert_allclose(outside.keep, inside.keep, atol=1e-6)
    # `rest` is a ratio of differences of about 1e-3.
    np.testing.assert_allclose(outside.rest, inside.rest, atol=1e-4)
    np.testing.assert_array_equal(outside.cells, inside.cells)


def test_every_class_uses_every_code_alike(
    both: tuple[ExactModifier, ExactModifier], data: Dataset
) -> None:
    for made in both:
        assert unequal(plan_of(made, data), texts(data, "who"), texts(data)) < 1e-7


def test_codes_of_a_sample_are_balanced_over_all_records(
    data: Dataset, streamed: StreamedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("withhold.methods.features.exact.fit.SAMPLE", 8 * 1500)
    told = Recorder()
    made = fitted(streamed, preserve="word", codes=30, progress=told)
    assert "codes are learned from 1,500 of its 5,200 records" in told.text
    assert unequal(plan_of(made, data), texts(data, "who"), texts(data, "word")) < 1e-6


def test_the_sums_of_each_class_are_the_shares(
    both: tuple[ExactModifier, ExactModifier], data: Dataset, streamed: StreamedDataset
) -> None:
    made = both[0]
    s, cell = made.cells_of(labels(made, data), len(data))
    everything = AllRecords(streamed, cell, np.unique(np.stack([cell, s]), axis=1)[1])
    codes = len(made.codes)
    shares = torch.full((3, codes), 1 / codes)
    found = everything.balanced(
        made.plan.reader, shares.log(), torch.zeros(3, codes), None, name="", progress=Recorder()
    )
    assert found.redrawn > 1e-3  # passes have ended early
    inside, count = everything.inside(made.plan.reader, found.potentials)
    kept = inside * found.keep
    left = kept + (1 - kept.sum(dim=1, keepdim=True)) * found.rest
    np.testing.assert_array_equal(count.numpy(), np.bincount(cell))
    np.testing.assert_allclose(left.numpy(), shares.log().double().exp().numpy(), atol=1e-9)


def test_features_are_read_in_blocks_and_never_all(
    data: Dataset, streamed: StreamedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Counting(streamed._file)
    monkeypatch.setattr("withhold.methods.features.exact.fit.SAMPLE", 8 * 1500)
    held = StreamedDataset(
        streamed.x, streamed.table, streamed.layout, streamed.schema, streamed.name,
        path=streamed.path, source=source,
    )  # fmt: skip
    largest = 0
    blocks = StreamedDataset.blocks

    def watched(self: StreamedDataset) -> Iterator[tuple[slice, np.ndarray]]:
        nonlocal largest
        for rows, x in blocks(self):
            largest = max(largest, len(x))
            yield rows, x

    monkeypatch.setattr(StreamedDataset, "blocks", watched)
    fitted(held)
    assert source.passes >= 5
    assert source.largest == largest == ROWS < len(data)
    assert held.x.nbytes == 0


def test_code_vectors_are_those_of_the_records_in_memory(
    data: Dataset, streamed: StreamedDataset
) -> None:
    drawn = np.random.default_rng(0).integers(0, 7, len(data))
    drawn[drawn == 6] = 5  # nobody has code 6
    one = np.arange(len(data)) // 3
    one[: len(data) // 2] = 0  # half of the records are of one person
    for people in (np.arange(len(data)), np.arange(len(data)) // 3, one):
        wanted = robust_means(data.x, drawn, people, codes=7, least=5)
        with Recorder().stage("code vectors", 2) as bar:
            found = streamed_means(streamed, drawn, people, codes=7, least=5, bar=bar)
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert robust.MOST == 4000


def test_a_sample_has_some_of_every_cell() -> None:
    cell = np.repeat([0, 1, 2], [5000, 3, 4000])
    rows = sample_rows(cell, 500, seed=1)
    assert len(rows) == len(np.unique(rows)) <= 503
    assert set(np.flatnonzero(cell == 1)) <= set(rows)
    np.testing.assert_array_equal(rows, sample_rows(cell, 500, seed=1))
    assert len(sample_rows(cell, len(cell), seed=1)) == len(cell)


def test_rows_of_a_file_are_those_of_the_data(data: Dataset, streamed: StreamedDataset) -> None:
    rows = np.array([4999, 0, 4096, 17, 17])
    some = streamed.rows(rows)
    np.testing.assert_array_equal(some.x, data.x[rows])
    assert some.table.column_names == data.table.column_names
    assert some.table["side"].to_pylist() == [data.table["side"][int(i)].as_py() for i in rows]
    assert len(streamed) == len(data)
    assert streamed.dimension == data.dimension
    assert "side" not in streamed.table.column_names
    np.testing.assert_array_equal(streamed.attribute("who").codes, data.attribute("who").codes)


def test_the_digest_sees_every_value(tmp_path: Path) -> None:
    one = world((30, 30))
    first = on_disk(one, tmp_path).digest()
    assert on_disk(one, tmp_path).digest() == first
    x = one.x.copy()
    x[-1, -1] += 1
    assert on_disk(one.with_features(x), tmp_path).digest() != first
    side = pa.array(["up", *one.table["side"].to_pylist()[1:]])
    assert on_disk(one.with_column("side", side), tmp_path).digest() != first
