"""Kill a release of media again and again: the same bytes in the end, and nothing left over."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from release_support import below, people

from .conftest import Run
from .killer import WITHHOLD

IMAGES = 900
TRANSFORM = ("transform", "b", "faces", "--pattern", "{person}_{pose}", "-q", "-o")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL"),
]


def killed_at(files: int, ground: Path) -> int:
    """Kill a release as soon as so many files are made; returns how many there were.

    On a busy machine it may end before this process looks again: then it starts anew.
    """
    work = ground / "killed.partial"
    for _ in range(5):
        process = subprocess.Popen([str(WITHHOLD), *TRANSFORM, "killed"], cwd=ground)
        while process.poll() is None and made_in(work) < files:
            time.sleep(0.001)
        process.kill()
        if process.wait() == -signal.SIGKILL and not (ground / "killed").exists():
            return made_in(work)
        for left in ground.glob("killed*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    raise AssertionError("the release was never killed in time")


def made_in(work: Path) -> int:
    try:
        return len(os.listdir(work))
    except FileNotFoundError:  # not there yet, or renamed already
        return 0


def test_transform(tmp_path: Path, cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    people(tmp_path / "faces", each=IMAGES // 2)
    (tmp_path / "faces" / "zed_1.png").write_text("no picture")
    fit = ("fit", "faces", "--pattern", "{person}_{pose}", "--suppress", "person", "-q")
    assert cli(*fit, "--method", "blur", "-o", "b").code == 0
    assert cli(*TRANSFORM, "whole").code == 0
    done = 0
    for share in (1, 3, 6):
        there = killed_at(IMAGES * share // 10, tmp_path)
        assert done < there < IMAGES
        done = there
    assert cli(*TRANSFORM, "killed").code == 0
    assert below(tmp_path / "killed") == below(tmp_path / "whole")
    assert len(below(tmp_path / "killed")) == IMAGES + 1
    for end in (".names.csv", ".left-out.csv"):
        assert Path(f"killed{end}").read_bytes() == Path(f"whole{end}").read_bytes()
    assert {p.name for p in tmp_path.iterdir()} == {"b", "faces"} | {
        f"{name}{end}"
        for name in ("killed", "whole")
        for end in ("", ".names.csv", ".left-out.csv")
    }
