"""The bench of the server: bounded, and able to find a lost job."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from withhold.bench import find_recipe
from withhold.bench.recipe import Recipe
from withhold.bench.run import KINDS
from withhold.bench.server_clients import TimedCalls
from withhold.bench.server_fuzz import Fuzzed
from withhold.bench.server_kills import Kills, _jobs, kill_under_load
from withhold.bench.server_load import LoadSizes, ServerLoad, run_server_load
from withhold.bench.server_process import ServerProcess
from withhold.core.progress import Silent

pytest.importorskip("fastapi", reason="fastapi is not installed")


@pytest.mark.slow
def test_it_measures_kills_and_fuzzes(tmp_path: Path) -> None:
    pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    sizes = {"records": 60, "clients": [1, 2], "seconds": 0.5, "kills": 2, "fuzzed": 60}
    recipe = Recipe(title="small", kind="server-load", data_settings=sizes)
    found = run_server_load(recipe, tmp_path, progress=Silent())
    assert [(t.call, t.clients) for t in found.timed] == [
        (call, clients) for call in ("healthz", "inspect", "transform") for clients in (1, 2)
    ]
    assert all(set(t.answers) == {200} for t in found.timed)
    assert all(t.p99 >= t.p50 > 0 for t in found.timed)
    assert found.memory_before > 10
    assert found.kills is not None
    assert found.kills.kills == 2
    assert found.kills.accepted > 0
    assert found.fuzzed is not None
    assert found.fuzzed.requests == 60
    assert found.sound, found
    assert json.loads((tmp_path / "server-load.json").read_text())["sound"] is True
    assert not (tmp_path / "served").exists()


@pytest.mark.slow
def test_a_job_that_is_gone_is_counted_as_lost(tmp_path: Path) -> None:
    """The bench must be able to fail: a job is taken out of the database, another one ran twice."""
    server = ServerProcess(tmp_path / "served", "--most-queued", "3")
    try:
        data = server.ask("POST", "/api/v1/datasets?format=csv", b"a,b\n" + b"1,x\n2,y\n" * 30)
        path = server.folder / "jobs.sqlite"

        class Cheat(Silent):
            """Changes the database when the kills are over."""

            def stage(self, name: str, total: int | None):  # type: ignore[no-untyped-def]
                if name == "waiting for the jobs":
                    with closing(sqlite3.connect(path, timeout=30)) as database, database:
                        (first, second) = database.execute("SELECT id FROM jobs LIMIT 2").fetchall()
                        database.execute("DELETE FROM jobs WHERE id = ?", first)
                        database.execute("UPDATE jobs SET runs = 5 WHERE id = ?", second)
                return super().stage(name, total)

        job = {"kind": "inspect", "dataset": data["id"]}
        found = kill_under_load(server, job, kills=1, clients=3, progress=Cheat())
        assert found.lost == 1
        assert found.twice == 1
        assert len(_jobs(server)) == found.accepted + found.unanswered - 1
    finally:
        server.end()


def test_what_is_lost_or_an_error_is_not_sound() -> None:
    timed = (TimedCalls("healthz", 1, 2, 3.0, 4.0, 5.0, {200: 2}),)
    kept = Kills(2, 3, 0, 0, 0, 1, 0.5, 0.6, {202: 3})
    good = ServerLoad(2, 2, timed, 1.0, 2.0, kept, Fuzzed(9, 3, 0, {404: 9}))
    assert good.sound
    assert "met" in good.to_markdown()
    lost = Kills(2, 3, 1, 0, 0, 1, 0.5, 0.6, {202: 3})
    twice = Kills(2, 3, 0, 1, 0, 1, 0.5, 0.6, {202: 3})
    errors = Fuzzed(9, 3, 1, {500: 1})
    for kills, fuzzed in ((lost, None), (twice, None), (None, errors)):
        bad = ServerLoad(2, 2, timed, 1.0, 2.0, kills, fuzzed)
        assert not bad.sound
        assert "NOT MET" in bad.to_markdown()


def test_the_recipe_has_the_sizes_of_the_issue() -> None:
    recipe = find_recipe("server-load")
    assert recipe.kind in KINDS
    sizes = LoadSizes(**recipe.data_settings)
    assert (sizes.kills, sizes.fuzzed, sizes.clients) == (200, 10_000, (1, 4, 16))
