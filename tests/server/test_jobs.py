"""Jobs in worker processes: progress, results, cancel, limits, and workers that vanish."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from server.conftest import Serve, Served, people
from withhold.server.job_progress import JobProgress
from withhold.server.private_folder import is_locked, take_lock
from withhold.server.worker import BUSY, lock_path, run_worker


def until(served: Served, id: str, *states: str, seconds: float = 120) -> dict[str, object]:
    end = time.monotonic() + seconds
    while (job := served.job(id))["state"] not in states:
        assert time.monotonic() < end, job
        time.sleep(0.05)
    return job


def group_lives(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True


def events(served: Served, id: str) -> list[tuple[str, dict[str, object]]]:
    text = served.client.get(f"/api/v1/jobs/{id}/events").text
    found = []
    for block in text.strip().split("\n\n"):
        if block.startswith(":"):
            continue
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


@pytest.mark.slow
def test_inspect_runs_once_and_is_answered_from_the_database(serve: Serve) -> None:
    served = serve()
    dataset = served.upload(people(120))
    roles = {"suppress": ["sex"], "preserve": ["income"]}
    first = served.client.post(f"/api/v1/datasets/{dataset}/inspect", json=roles)
    assert first.status_code == 200, first.text
    found = first.json()
    assert found["records"] == 120
    assert set(found["attributes"]) >= {"sex", "income"}
    assert found["tells"]["sex"][0]["column"] == "(all of them together)"
    assert 0.5 <= found["feasibility"]["floor"]["sex"] <= 1
    again = served.client.post(f"/api/v1/datasets/{dataset}/inspect", json=roles)
    assert again.json() == found
    assert len(served.client.get("/api/v1/jobs").json()) == 1
    id = served.client.get("/api/v1/jobs").json()[0]["id"]
    assert [name for name, _ in events(served, id)] == ["end"]
    wrong = served.client.post(f"/api/v1/datasets/{dataset}/inspect", json={"suppress": ["sx"]})
    assert wrong.status_code == 422
    assert "did you mean 'sex'" in wrong.json()["error"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx", "npz", "arrow", "jsonl", "csv.gz"])
def test_a_hostile_file_of_each_kind_gets_one_line(serve: Serve, kind: str) -> None:
    """In this process, because the worker needs a second to start."""
    served = serve(work=False)
    dataset = served.upload(b"PK\x03\x04PAR1\xff\xfe\x00\x1f\x8b" * 50, f"bad.{kind}")
    id = served.start(kind="inspect", dataset=dataset)
    assert served.service.jobs.claim() is not None
    served.service.folder.make_job(id)
    assert run_worker(served.service.folder.root, id) == 0
    job = served.job(id)
    assert job["state"] == "failed"
    assert job["error"]
    assert str(served.service.folder.root) not in job["error"]
    assert "bug" not in job["error"]


def test_cancel_stops_the_process_group(serve: Serve) -> None:
    served = serve()
    dataset = served.upload(people(400, columns=("sex", "income", "occupation", "age", "region")))
    id = served.start(kind="release", dataset=dataset, suppress=["sex"])
    until(served, id, "running")
    while (pid := served.service.jobs.find(id).pid) is None:  # type: ignore[union-attr]
        time.sleep(0.02)
    assert served.client.post(f"/api/v1/jobs/{id}/cancel").json()["state"] == "cancelled"
    end = time.monotonic() + 20
    while is_locked(lock_path(served.service.folder, id)):
        assert time.monotonic() < end
        time.sleep(0.05)
    while group_lives(pid):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert events(served, id)[-1][1]["state"] == "cancelled"
    assert served.client.get(f"/api/v1/jobs/{id}/files").status_code == 409


def test_a_worker_that_is_killed_fails_with_a_reason(serve: Serve) -> None:
    served = serve()
    id = served.start(kind="inspect", dataset=served.upload(people(60)))
    while (pid := served.service.jobs.find(id).pid) is None:  # type: ignore[union-attr]
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    job = until(served, id, "failed", "done")
    assert job["state"] == "done" or "signal 9" in str(job["error"])


def test_a_job_that_takes_too_long_is_stopped(serve: Serve) -> None:
    served = serve(work=False, job_seconds=1e-6)
    id = served.start(kind="inspect", dataset=served.upload(people(60)))
    served.service.workers.look()  # starts the worker
    served.service.workers.look()  # and finds it late
    served.service.workers.stop()
    job = served.job(id)
    assert job["state"] == "failed"
    assert "longer than" in str(job["error"])


def test_one_worker_at_a_time_holds_a_job(serve: Serve, tmp_path: Path) -> None:
    """A worker of a server that was killed still runs: a second one leaves at once."""
    served = serve(work=False)
    id = served.start(kind="inspect", dataset=served.upload(people(60)))
    served.service.folder.make_job(id)
    lock = take_lock(lock_path(served.service.folder, id))
    assert lock is not None
    assert served.service.jobs.claim() is not None
    assert run_worker(served.service.folder.root, id) == BUSY
    served.service.workers.look()  # the lock is held: the job is not taken up again
    assert served.job(id)["state"] == "running"
    os.close(lock)


def test_a_running_job_without_a_worker_is_taken_up_again_but_not_for_ever(serve: Serve) -> None:
    served = serve(work=False, attempts=2)
    id = served.start(kind="inspect", dataset=served.upload(people(60)))
    jobs, workers = served.service.jobs, served.service.workers
    for attempt in (1, 2):
        assert jobs.claim() is not None  # a server that was killed before it started the worker
        assert served.job(id)["attempts"] == attempt
        with workers._turn:
            workers._collect()
    assert served.job(id)["state"] == "failed"
    assert "vanished" in served.job(id)["error"]


def test_a_job_ends_once(serve: Serve) -> None:
    served = serve(work=False)
    id = served.start(kind="inspect", dataset=served.upload(people(60)))
    jobs = served.service.jobs
    assert jobs.claim() is not None
    assert jobs.claim() is None
    assert jobs.cancel(id)
    assert not jobs.finish(id, {"late": True})
    assert not jobs.fail(id, "late")
    assert served.job(id)["state"] == "cancelled"
    assert served.job(id)["result"] is None


def test_progress_shows_stages_with_the_time_left(serve: Serve, monkeypatch: object) -> None:
    served = serve(work=False)
    id = served.start(kind="inspect", dataset=served.upload(people(60)))
    assert served.service.jobs.claim() is not None
    progress = JobProgress(served.service.jobs, id)
    with progress.stage("outer", 4) as outer, progress.stage("inner", None) as inner:
        outer.advance()
        inner.advance(3, note="loss 0.1")
        progress.say("a note")
        progress.say("a note")
        progress._written = 0.0
        progress.write()
        job = served.job(id)
    first, second = job["progress"]
    assert (first["name"], first["done"], first["total"]) == ("outer", 1, 4)
    assert first["left"] >= 0
    assert (second["done"], second["total"], second["note"]) == (3, None, "loss 0.1")
    assert second["left"] is None
    assert job["messages"] == ["a note"]
