"""Whoever kills a command at random moments, and looks at what it leaves."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

WITHHOLD = Path(sys.executable).with_name("withhold")
KILLS = int(os.environ.get("WITHHOLD_KILLS", "4"))


@dataclass
class Killer:
    """Runs one command again and again and kills it, until it was killed often enough.

    Most kills come at a moment drawn evenly over a run. Some things last a millisecond, so that
    such a kill would never hit them; every third kill is aimed, at one of `aims` in turn.
    """

    ground: Path
    arguments: tuple[str, ...]
    output: Path
    kills: int = 0
    seed: int = 0
    aims: tuple[str, ...] = ()
    size: int = 0
    hit: Counter[str] = field(default_factory=Counter)
    # What may lie about in the ground when all is done, beside the output.
    known: ClassVar[frozenset[str]] = frozenset()

    @property
    def work(self) -> Path:
        """Where a fit keeps its epochs, and an extraction its parts."""
        return self.output.with_name(f"{self.output.name}.partial")

    @property
    def beside(self) -> Path:
        """Where a transform writes until it is done."""
        return self.output.with_name(f".{self.output.name}.partial")

    @property
    def half(self) -> Path:
        """The file that becomes the output, which a transform makes in a folder of its own."""
        inside = self.beside / f".{self.output.name}.partial"
        return inside if self.beside.is_dir() else self.beside

    @property
    def making(self) -> Path:
        """Where a fit puts its bundle together."""
        return self.output.with_name(f".{self.output.name}.making")

    @property
    def log(self) -> Path:
        """What the command says, for when it fails; outside the ground, which must stay tidy."""
        return self.ground.with_name("kills.log")

    def start(self) -> subprocess.Popen[bytes]:
        command = [str(WITHHOLD), *self.arguments, self.output.name]
        with self.log.open("wb") as log:
            return subprocess.Popen(command, cwd=self.ground, stderr=log)

    def finish(self) -> float:
        """Run to the end, undisturbed; returns the seconds it took."""
        started = time.monotonic()
        assert self.start().wait() == 0, self.log.read_text()
        seconds = time.monotonic() - started
        self.check_end()
        return seconds

    def run(self, seconds: float) -> None:
        """Kill, and start again, and in the end let it finish."""
        rng = random.Random(self.seed)
        for number in range(self.kills):
            turn, aimed = divmod(number, 3)
            aim = self.aims[turn % len(self.aims)] if aimed == 1 else ""
            while not self.kill(aim, rng.uniform(0, seconds)):
                # It was done before the moment came: all over again.
                self.check_end()
                self.remove()
        self.finish()

    def kill(self, aim: str, moment: float) -> bool:
        """One kill, and what is true after it; False where the run was done first."""
        before = self.stamps()
        process = self.start()
        if aim:
            while process.poll() is None and not self.reached(aim):
                time.sleep(0.0002)
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(moment)
        process.kill()
        code = process.wait()
        assert code in (0, -signal.SIGKILL), self.log.read_text()
        self.check()
        if code == 0:
            return False
        self.hit[self.where(before)] += 1
        if self.output.exists():
            self.finish()
            self.remove()
        return True

    def reached(self, aim: str) -> bool:
        """Whether a run is at what the kill is aimed at.

        The run moves its files while we look: what is gone between two looks is not there.
        """
        with contextlib.suppress(FileNotFoundError):
            if aim == "part":
                return any(name.endswith(".parquet") for name in os.listdir(self.work))
            if aim == "writing":
                return self.beside.exists()
            if aim == "checkpoint":
                return any(name.startswith(".") for name in os.listdir(self.work))
            if aim == "closing":
                return self.half.stat().st_size >= self.size
            return (self.making if aim == "bundle" else self.output).exists()
        return False

    def stamps(self) -> dict[str, int]:
        """Every file of the run, and when it was written."""
        folders = (self.work, self.making, self.beside)
        paths = [self.beside, self.making, *(p for f in folders for p in f.glob("*"))]
        return {p.name: p.stat().st_mtime_ns for p in paths if p.exists()}

    def where(self, before: dict[str, int]) -> str:
        """What the kill hit, from what lies about."""
        after = self.stamps()
        if self.output.exists():
            return "7 after the rename"
        if self.making.exists():
            return "6 putting the bundle together"
        if self.beside.exists() and after != before:
            all_there = self.half.exists() and self.half.stat().st_size >= self.size
            return "6 closing the release" if all_there else "2 writing the release"
        if after == before:
            return "1 start-up"
        if any(name.startswith(".") for name in after):
            return "5 saving an epoch"
        newest = max(after, key=lambda name: after[name])
        return f"3 training, {newest.rpartition('-')[0]}"

    def check(self) -> None:
        """Nothing half-written stands under the final name."""
        if self.output.exists():
            self.check_output()

    def check_output(self) -> None:
        """What stands under the final name is sound."""
        raise NotImplementedError

    def check_end(self) -> None:
        """It is there, sound, and nothing is left beside it."""
        assert self.output.exists()
        self.check()
        assert {p.name for p in self.ground.iterdir()} <= self.known | {self.output.name}

    def remove(self) -> None:
        if self.output.is_dir():
            shutil.rmtree(self.output)
        else:
            self.output.unlink()


def tell(command: str, seconds: float, killer: Killer) -> None:
    hits = ", ".join(f"{where[2:]}: {count}" for where, count in sorted(killer.hit.items()))
    print(f"\n{command} ({seconds:.1f} s unbroken), {killer.kills} kills: {hits}")
