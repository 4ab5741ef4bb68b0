"""Peak memory: of this process and its children, and of a fresh process that does one thing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from withhold.core.errors import UserError

# For code that is run by `figure_of`: `peak()` is the largest memory of its process, in bytes.
_PEAK = """
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
"""


def figure_of(code: str, *arguments: str | Path) -> float:
    """The number that Python code prints in a fresh process; the code may call `peak()`.

    A fresh process is needed because a process does not give all its memory back.
    """
    need_proc("status")
    command = [sys.executable, "-c", _PEAK + code, *map(str, arguments)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def need_proc(name: str) -> None:
    """Raise `UserError` on a system that does not tell the memory of a process."""
    path = Path("/proc/self") / name
    if not path.exists():
        raise UserError(f"memory is read from {path}, which this system does not have")


def memory_of(process: Path | str, file: str, field: str) -> int:
    """A field of a file below /proc/PROCESS in bytes; 0 if the process has ended."""
    try:
        lines = (Path("/proc") / process / file).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), 0)


class MemoryWatch(threading.Thread):
    """The peak memory of a process and its children; shared pages are counted once.

    first: the peak of the process alone. By default it is this process.
    """

    def __init__(self, process: int | None = None) -> None:
        super().__init__(daemon=True)
        need_proc("smaps_rollup")
        self.peak = self.first = 0
        self._process = os.getpid() if process is None else process
        self._over = threading.Event()

    def __enter__(self) -> MemoryWatch:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        """Look several times a second."""
        while not self._over.wait(0.3):
            family = _family(self._process)
            now = sum(memory_of(str(process), "smaps_rollup", "Pss:") for process in family)
            self.peak = max(self.peak, now)
            self.first = max(self.first, memory_of(str(self._process), "status", "VmHWM:"))


def _family(first: int) -> list[int]:
    """The ids of a process and of all processes below it."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text()
            except OSError:
                continue  # it has ended
            parent = int(stat.rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(folder.name))
    found, fresh = [], [first]
    while fresh:
        found += fresh
        fresh = [child for parent in fresh for child in children.get(parent, [])]
    return found
