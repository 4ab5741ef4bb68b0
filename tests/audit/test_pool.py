from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from withhold.audit import pool
from withhold.audit.pool import run_all, work
from withhold.core.progress import Silent


def run(function, tasks, **how):
    with Silent().stage("s", 1) as stage:
        return list(run_all(function, tasks, stage=stage, **how))


def double(n):
    return 2 * n


def test_every_task_is_done_once_and_told_by_its_index():
    tasks = [(0.1 * n, n) for n in range(6)]
    assert sorted(run(double, tasks, workers=1)) == [(i, 2 * i) for i in range(6)]


def test_the_long_ones_first():
    tasks = [(1.0, "a"), (3.0, "b"), (2.0, "c")]
    assert [i for i, _ in run(str, tasks, workers=1)] == [1, 2, 0]


@pytest.mark.slow
def test_small_work_stays_here_and_large_work_does_not(monkeypatch):
    tasks = [(1.0, n) for n in range(3)]
    # A function of its own: workers do not know the modules of tests.
    process = lambda _: __import__("os").getpid()  # noqa: E731
    assert {who for _, who in run(process, tasks, workers=2)} == {os.getpid()}
    monkeypatch.setattr(pool, "_SMALL", 0.0)
    found = run(process, tasks, workers=2)
    assert sorted(i for i, _ in found) == [0, 1, 2]
    assert os.getpid() not in {who for _, who in found}


def test_an_attack_has_one_thread_wherever_it_runs():
    before = torch.get_num_threads()
    found = run(lambda _: torch.get_num_threads(), [(1.0, None)], workers=1)
    assert found == [(0, 1)]
    assert torch.get_num_threads() == before


def test_a_task_that_fails_is_not_swallowed():
    with pytest.raises(ZeroDivisionError):
        run(lambda n: 1 / n, [(1.0, 0)], workers=1)


def test_work_is_what_the_stage_will_be_told():
    assert work([(0.01, None), (2.4, None), (3.6, None)]) == 1 + 2 + 4


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
def test_workers_do_not_outlive_whoever_started_them(tmp_path):
    """A killed audit must not leave processes, nor the data in their memory, behind."""
    code = (
        "import os, time\n"
        "from withhold.audit import pool\n"
        "pool._follow_parent()\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "time.sleep(60)\n"
    )
    starter = (
        f"import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', {code!r}])\n"
        "time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", starter])
    patience = time.monotonic() + 60
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < patience
        time.sleep(0.1)
    worker = int((tmp_path / "pid").read_text())
    assert alive(worker)
    parent.kill()
    parent.wait()
    while alive(worker):
        assert time.monotonic() < patience, "the worker lives on"
        time.sleep(0.1)


def alive(process):
    """One that has ended and waits to be reaped is not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
