"""Audit, certify and extract give the same on every engine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine_support import Pickling, fitted, table
from media_support import Mean, constant, sounds, write_wav
from withhold.actions import engine_options
from withhold.actions.audit import Audit, audit
from withhold.actions.audit_files import audit_files
from withhold.actions.audit_request import AuditRequest
from withhold.actions.certify import CertifyRequest, certify
from withhold.actions.engine_options import EngineOptions
from withhold.actions.extract import ExtractRequest, _check_sendable, extract
from withhold.audit import pool
from withhold.audit.audit_settings import AuditSettings
from withhold.bench.audit_engines import timeless
from withhold.certificate import certify_bundle
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.media.extract_features import plan
from withhold.media.to_file import extract_to
from withhold.records.dataset import Dataset
from withhold.records.readers import Samples
from withhold.records.samples import Sound
from withhold.release.engines import open_engine
from withhold.release.engines.engine import Engine


@pytest.fixture(params=["ray", "spark"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine of other processes, with two workers."""
    pytest.importorskip({"ray": "ray", "spark": "pyspark"}[request.param])
    with open_engine(request.param, workers=2) as made:
        yield made


def audited(engine: Engine | None, *, workers: int | None = 1) -> Audit:
    """A tiny audit with a quick ladder."""
    data = Dataset.read(table())
    noisy = data.x + np.random.default_rng(0).normal(0, 1, data.x.shape).astype(np.float32)
    release = data.with_features(noisy)
    return audit(
        data, release, "sex", "word", quick=True, same_order=True, workers=workers, engine=engine
    )


def same(one: Audit, two: Audit) -> bool:
    """Equal to the last bit but for when it was and how long it took."""
    return repr(timeless(one.to_dict())) == repr(timeless(two.to_dict()))


def certified(folder: Path, spread: Any) -> bytes:
    """The bytes of a certificate of 900 records that the fit never saw."""
    found = certify_bundle.certify(
        fitted("codebook", table()), Dataset.read(table(900, seed=3)), spread=spread
    )
    found.to_json(folder / "certificate.json")
    return (folder / "certificate.json").read_bytes()


def voices(n: int) -> Samples:
    """Sounds with a label each; more than two blocks."""
    rng = np.random.default_rng(0)
    made = [Sound(rng.normal(0, 0.1, 900).astype(np.float32), 8000) for _ in range(n)]
    return Samples(made, pa.table({"n": np.arange(n)}), "sound")


def extracted(folder: Path, spread: Any) -> bytes:
    """The bytes of a file of features."""
    folder.mkdir(exist_ok=True)
    job = plan(voices(300), extractor="logmel", test="n>=250")
    assert len(job.collection) > 2 * job.extractor.batch
    extract_to(job, folder / "x.parquet", progress=Silent(), spread=spread)
    return (folder / "x.parquet").read_bytes()


def test_an_audit_is_the_same_through_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr(Pickling, "each", _noted(Pickling.each, ran))
    assert same(audited(None), audited(Pickling(2)))
    assert ran


def _noted(each: Any, ran: list[int]) -> Any:
    def noted(self: Engine, function: Any, tasks: Any) -> Any:
        ran.append(len(function.tasks))
        return each(self, function, tasks)

    return noted


def test_results_belong_to_their_tasks_in_any_order() -> None:
    class Backwards(Pickling):
        def each(self, function: Any, tasks: Any) -> Iterator[tuple[int, Any]]:
            return reversed(list(enumerate(self.map(function, tasks))))  # type: ignore[return-value]

    costs = [(float(c), str(c)) for c in (3, 9, 1, 5)]
    with Silent().stage("s", 1) as stage:
        found = pool.run_all(int, costs, workers=None, stage=stage, engine=Backwards())
        assert sorted(found) == [(0, 3), (1, 9), (2, 1), (3, 5)]


@pytest.mark.slow
def test_a_certificate_and_features_are_the_same_through_pickle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certify_bundle, "ROWS", 128)
    assert certified(tmp_path, map) == certified(tmp_path, Pickling(2).map)
    local = extracted(tmp_path / "local", None)
    assert local == extracted(tmp_path / "other", Pickling(2).map)
    # Also if the first run is interrupted after a block.
    cut = tmp_path / "cut"

    class Stop(Exception):
        pass

    def stopping(function: Any, tasks: Any) -> Iterator[Any]:
        yield from itertools.islice(map(function, tasks), 2)
        raise Stop

    monkeypatch.setattr("withhold.media.to_file._BYTES", 1)
    with pytest.raises(Stop):
        extracted(cut, stopping)
    assert local == extracted(cut, Pickling(2).map)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_same_on_engines(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certify_bundle, "ROWS", 128)
    assert same(audited(None), audited(engine))
    assert certified(tmp_path, map) == certified(tmp_path, engine.map)
    assert extracted(tmp_path / "l", None) == extracted(tmp_path / "e", engine.map)


@pytest.mark.slow
def test_the_actions_use_the_engine_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with the same bytes; the engine is asked for by its name."""
    asked: list[str] = []

    def opened(name: str, *, workers: int | None) -> Engine:
        asked.append(f"{name}:{workers}")
        return open_engine("local") if name == "local" else Pickling(workers or 1)

    monkeypatch.setattr(engine_options, "open_engine", opened)
    data, later, bundle = (tmp_path / n for n in ("a.parquet", "later.parquet", "b"))
    pq.write_table(table(), data)
    pq.write_table(table(900, seed=3), later)
    fitted("codebook", table()).save(bundle)
    kept = []
    for options in (EngineOptions(), EngineOptions(engine="ray", workers=2)):
        out = tmp_path / f"out-{options.engine}"
        out.mkdir()
        certify(CertifyRequest(bundle=bundle, data=later, output=out / "c.json", of_engine=options))
        settings = AuditSettings(suppress=("sex",), quick=True)
        audit_files(
            AuditRequest(original=data, output=out / "audit", settings=settings, of_engine=options)
        )
        kept.append((out / "c.json").read_bytes())
    assert asked == ["local:None", "local:None", "ray:2", "ray:2"]
    assert kept[0] == kept[1]


def test_an_extractor_that_cannot_be_sent_is_refused(tmp_path: Path) -> None:
    extractor = Mean()
    extractor.session = lambda: None  # type: ignore[attr-defined]
    with pytest.raises(UserError, match="cannot be sent to the workers of ray; use --engine local"):
        _check_sendable(plan(sounds(3), extractor=extractor), "ray")
    write_wav(tmp_path / "a.wav", constant(0.1))
    request = ExtractRequest(
        media=tmp_path,
        output=tmp_path / "x.parquet",
        extractor="logmel",
        of_engine=EngineOptions(engine="rey"),
    )
    with pytest.raises(UserError, match="there is no engine 'rey'; did you mean 'ray'"):
        extract(request)
