"""Data, a bundle and an engine for the tests of engines."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support import key_of
from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import Bundle
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.progress import Silent
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source
from withhold.records.roles import Roles
from withhold.release.engines.distributed import EngineRelease
from withhold.release.engines.engine import Engine, InWorker, opened
from withhold.release.stream import release_features
from withhold.release.wishes import Wishes

N, D = 600, 6
KEY = key_of(5)
FAST = {"codes": 8, "rounds": 1, "exact_rounds": 0, "epochs": 2, "scores": "metric"}


class Pickling(Engine):
    """Sends everything through pickle, in this process, and finishes tasks in groups."""

    name = "pickling"

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers

    def stop(self) -> None:
        pass

    def map(self, function: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
        sent = pickle.dumps(InWorker(function, cores=2))
        waiting = []
        for task in tasks:
            waiting.append(pickle.dumps(task))
            if len(waiting) == 3:
                yield from self._done(sent, waiting)
                waiting = []
        yield from self._done(sent, waiting)

    def _done(self, sent: bytes, waiting: list[bytes]) -> list[Any]:
        made = [pickle.dumps(pickle.loads(sent)(pickle.loads(w))) for w in reversed(waiting)]
        return [opened(pickle.loads(m)) for m in reversed(made)]


def table(n: int = N, seed: int = 0) -> pa.Table:
    """`sex` is suppressed and moves the features, `title` is a copy of it, `word` is useful, and
    every fifth row occurs twice."""
    rng = np.random.default_rng(seed)
    g, word = rng.integers(0, 2, n), rng.integers(0, 3, n)
    x = rng.standard_normal((n, D)).astype(np.float32)
    x[:, 0] += 2 * g
    x[:, 1] += 3 * word
    again = np.where(np.arange(n) % 5 == 0, np.maximum(np.arange(n) - 1, 0), np.arange(n))
    columns = {
        "x": pa.FixedSizeListArray.from_arrays(pa.array(x[again].reshape(-1)), D),
        "sex": pa.array(np.array(["f", "m"])[g][again]),
        "title": pa.array(np.array(["Ms", "Mr"])[g][again]),
        "word": pa.array(np.array(["a", "b", "c"])[word][again]),
        "id": pa.array([f"p{i}" for i in again]),
    }
    return pa.table(columns)


def fitted(method: str, data: pa.Table) -> Bundle:
    """A small bundle that suppresses `sex` and preserves `word`."""
    config = {"exact": FAST, "codebook": {"codes": 8, "rounds": 1}, "noise": {}}[method]
    roles = Roles.of("sex", "word")
    return fit_bundle(Dataset.read(data), roles, method=method, config=config, key=KEY)


def written(
    bundle: Bundle, data: pa.Table, folder: Path, *, group: int = 250, **options: Any
) -> dict[str, bytes]:
    """All files of a release, by name. group: rows of a row group of the source."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(data, folder / "in.parquet", row_group_size=group)
    wishes = options.pop("wishes", Wishes())
    release_features(
        bundle, open_source(folder / "in.parquet"), folder / "out.parquet", wishes,
        features="x", progress=Silent(), **options,
    )  # fmt: skip
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "in.parquet"}


def check_rows(found: EngineRelease, rows: pa.Table, folder: Path) -> None:
    """The rows of the file in their order, and its claims."""
    expected = pq.read_table(folder / "out.parquet")
    assert rows.column_names == expected.column_names
    assert not {"sex", "title", "id"} & set(rows.column_names)
    assert {"sex", "title", "id"} <= set(found.left_out)
    np.testing.assert_array_equal(_x(rows), _x(expected))
    assert rows["word"].to_pylist() == expected["word"].to_pylist()
    certificate = folder / "out.certificate.json"
    assert (found.certificate is not None) == certificate.exists()
    if found.certificate is not None:
        ours = found.certificate.attributes["sex"].release
        theirs = ReleaseCertificate.from_json(certificate).attributes["sex"].release
        assert ours is not None
        assert theirs is not None
        assert ours.one == theirs.one
        assert ours.plan is not None
        assert theirs.plan is not None
        assert ours.plan.one == pytest.approx(theirs.plan.one, abs=1e-12)


def _x(rows: pa.Table) -> Any:
    return np.array([list(v) for v in rows["x"].to_pylist()], np.float32)
