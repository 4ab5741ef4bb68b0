"""One progress interface: bars in a terminal, lines in a log, warnings or silence in a library."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as RichBars
    from rich.progress import TaskID


class Stage(Protocol):
    """One named piece of work in progress."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Report `steps` more as done; `note` is a short figure shown beside the bar."""


class Progress(Protocol):
    """Where long work reports its progress."""

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Stage]:
        """Open a piece of work of `total` steps (None if unknown)."""
        ...

    def say(self, line: str) -> None:
        """Show the user one line, above any bar."""


class Silent:
    """The library's default: nothing is printed. It is its own stage."""

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Stage]:
        """Yield a stage that prints nothing."""
        yield self

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Print nothing."""

    def say(self, line: str) -> None:
        """Print nothing."""


class OnlyWarnings(Silent):
    """For scripts: nothing but what starts with `warning:`, on standard error."""

    def say(self, line: str) -> None:
        """Write a warning."""
        if line.startswith("warning:"):
            print(line, file=sys.stderr, flush=True)


class Lines:
    """For logs and pipes: a line every few seconds and at the end of a long stage."""

    def __init__(self, *, every: float = 5.0) -> None:
        self.every = every

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Stage]:
        """Yield a stage that writes lines to standard error."""
        stage = _LineStage(self, name, total)
        yield stage
        took = time.monotonic() - stage.started
        if took > 2.0:
            self.say(f"{name}: done in {_clock(took)}")

    def say(self, line: str) -> None:
        """Write one line to standard error."""
        print(line, file=sys.stderr, flush=True)


class _LineStage:
    def __init__(self, owner: Lines, name: str, total: int | None) -> None:
        self.owner, self.name, self.total = owner, name, total
        self.done = 0
        self.started = self.last = time.monotonic()

    def advance(self, steps: int = 1, note: str = "") -> None:
        self.done += steps
        now = time.monotonic()
        if now - self.last < self.owner.every:
            return
        self.last = now
        note = f", {note}" if note else ""
        if self.total:
            left = (now - self.started) / max(self.done, 1) * max(self.total - self.done, 0)
            share = 100 * self.done / self.total
            self.owner.say(f"{self.name}: {share:.0f} %{note}, {_clock(left)} left")
        else:
            self.owner.say(f"{self.name}: {self.done:,}{note}")


class Bars:
    """For a terminal: rich bars with the time left; finished bars stay visible."""

    def __init__(self) -> None:
        from rich.console import Console

        self.console = Console(stderr=True)
        self._bars: RichBars | None = None

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Stage]:
        """Yield a stage drawn as one bar."""
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as RichBars

        outermost = self._bars is None
        if self._bars is None:
            self._bars = RichBars(
                TextColumn("{task.description:<28}", markup=False),
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}", markup=False),
                console=self.console,
            )
            self._bars.start()
        task = self._bars.add_task(name, total=total, note="")
        try:
            yield _BarStage(self._bars, task)
        finally:
            if outermost:
                self._bars.stop()
                self._bars = None

    def say(self, line: str) -> None:
        """Print one message above the bars, broken at spaces."""
        self.console.print(line, highlight=False, markup=False)


class _BarStage:
    def __init__(self, bars: RichBars, task: TaskID) -> None:
        self.bars, self.task = bars, task

    def advance(self, steps: int = 1, note: str = "") -> None:
        self.bars.update(self.task, advance=steps, note=note)


def for_python() -> Progress:
    """What a long call from Python shows by itself: `progress=Silent()` turns it off.

    Bars in a terminal, lines in a notebook, and only warnings where standard error is a file.
    """
    if "ipykernel" in sys.modules:  # rich would need ipywidgets for its bars
        return Lines()
    return Bars() if sys.stderr is not None and sys.stderr.isatty() else OnlyWarnings()


def _clock(seconds: float) -> str:
    """Seconds in a readable form.

    >>> _clock(75)
    '1 min 15 s'
    """
    seconds = round(seconds)
    return f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"
