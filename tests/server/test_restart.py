"""A server that is killed and started again loses no job and runs none twice."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from server.conftest import people
from server.process import ServerProcess, kill_group
from withhold.core.errors import UserError
from withhold.server.private_folder import take_lock
from withhold.server.serve import serve
from withhold.server.server_settings import ServerSettings


@pytest.mark.slow
def test_a_killed_server_loses_nothing_and_runs_nothing_twice(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "served", "--workers", "2")
    try:
        dataset = server.call("datasets?format=csv", people(120))["id"]
        asked = {"kind": "inspect", "dataset": dataset, "suppress": ["sex"]}
        whole = server.until_over(server.call("jobs", asked)["id"])
        assert whole["state"] == "done"
        jobs = [server.call("jobs", asked)["id"] for _ in range(3)]
        for id in jobs[:2]:
            server.worker(id)
        server.kill()
        kill_group(server.worker(jobs[0]))  # this worker dies too, and the other one lives on
        server.start()
        found = {id: server.until_over(id) for id in jobs}
        assert {job["state"] for job in found.values()} == {"done"}
        assert all(job["result"] == whole["result"] for job in found.values())
        assert [found[id]["attempts"] for id in jobs] == [2, 1, 1]
        # Ctrl-C: the job goes back to the queue, and is done after the next start.
        last = server.call("jobs", asked)["id"]
        server.worker(last)
        assert server.stop() in (0, 130)
        with sqlite3.connect(tmp_path / "served" / "jobs.sqlite") as database:
            states = dict(database.execute("SELECT id, state FROM jobs"))
        database.close()
        assert states[last] in ("queued", "done")
        server.start()
        assert server.until_over(last)["result"] == whole["result"]
    finally:
        server.process.kill()
        server.close()
    with sqlite3.connect(tmp_path / "served" / "jobs.sqlite") as database:
        runs = database.execute("SELECT runs FROM jobs").fetchall()
    database.close()
    assert runs == [(1,)] * 5
    logged = (tmp_path / "server.log").read_text()
    assert "Traceback" not in logged


def test_one_server_for_a_folder(tmp_path: Path) -> None:
    settings = ServerSettings(folder=tmp_path / "served", port=0)
    settings.folder.mkdir(mode=0o700)
    lock = take_lock(settings.folder / "server.lock")
    assert lock is not None
    with pytest.raises(UserError, match="another server uses"):
        serve(settings, tell=lambda address, token: pytest.fail("it was started"))
    os.close(lock)


def test_a_folder_that_others_can_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir(mode=0o755)
    with pytest.raises(UserError, match="chmod 700"):
        serve(
            ServerSettings(folder=tmp_path / "served", port=0),
            tell=lambda address, token: pytest.fail("it was started"),
        )
