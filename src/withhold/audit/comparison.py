"""The result of `compare`: what each method leaks and what it leaves, and which one is best.

Accuracies are fractions. What is left of an attribute is its normalised gain,

    (accuracy - majority) / (accuracy on the original - majority), kept within 0..1,

and a row is summarised by the mean over all attributes that the readers read from the original.
"""

from __future__ import annotations

from statistics import fmean, pstdev
from typing import Any, Literal

from withhold.audit.findings import Finding
from withhold.audit.metrics import Interval
from withhold.methods.features.codebook.budget import Limit

NEAR = 0.01  # without a budget, the best row is proved to be this near to the floor
_ROUNDING = 1e-6  # plans are balanced to about 1e-8, and floors are divided anew
REFERENCE = "identity"
Proof = Literal["these records", "later records"]


class RunLeak(Finding):
    """What the best retrained attacker reads of one suppressed attribute, and what is proved."""

    accuracy: float
    ci: Interval
    floor: float
    bits: float
    attacker: str
    proved: float | None = None
    proved_floor: float | None = None
    proof: Proof | None = None

    def excess(self, limit: Limit) -> float:
        """How far the figure that counts lies above a limit; 0 or less: the limit is met.

        The figure that counts is the proved one. Without proof it is the upper end of the interval
        of the attack. Nothing is proved about bits, so a limit in bits is on the measured ones.
        """
        if limit.bits:
            return self.bits - limit.most(0.0)
        if self.proved is not None and self.proved_floor is not None:
            return self.proved - limit.most(self.proved_floor) - _ROUNDING
        return self.ci[1] - limit.most(self.floor)


class RunReading(Finding):
    """What the best retrained reader reads of one attribute that is not suppressed."""

    accuracy: float
    majority: float
    sure: bool  # whether it is surely read better than by guessing


class ComparedRun(Finding):
    """One fit of one method with one seed, and what was read from its release."""

    seed: int
    leaks: dict[str, RunLeak]
    read: dict[str, RunReading]
    codes: int | None = None
    fit_seconds: float
    read_seconds: float


class ComparedRow(Finding):
    """A method with its settings: a run for each seed, or the reason why there is none."""

    label: str
    method: str
    config: dict[str, Any]
    runs: tuple[ComparedRun, ...] = ()
    skipped: str | None = None

    def leak(self, name: str) -> RunLeak:
        """The leak over all seeds: mean accuracy, widest interval, largest proved figure."""
        found = [run.leaks[name] for run in self.runs]
        proved = [one.proved for one in found if one.proved is not None]
        every = len(proved) == len(found)
        return found[0].model_copy(
            update={
                "accuracy": fmean(one.accuracy for one in found),
                "ci": (min(one.ci[0] for one in found), max(one.ci[1] for one in found)),
                "bits": max(one.bits for one in found),
                "proved": max(proved) if every else None,
                "proof": found[0].proof if every else None,
            }
        )

    @property
    def proved(self) -> bool:
        """Whether there is a proved figure of every suppressed attribute."""
        return bool(self.runs) and all(self.leak(n).proved is not None for n in self.runs[0].leaks)

    @property
    def codes(self) -> int | None:
        """The number of codes of the first run."""
        return self.runs[0].codes if self.runs else None

    @property
    def seconds(self) -> float:
        """The mean time of a fit and its release."""
        return fmean(run.fit_seconds for run in self.runs) if self.runs else 0.0


class Comparison(Finding):
    """Every row of a comparison. The first row is the data as they are."""

    version: str
    data: str
    kind: Literal["features", "table"]
    records: int
    test_records: int
    suppress: tuple[str, ...]
    preserve: tuple[str, ...]
    budget: str | None
    limits: tuple[Limit, ...]
    seeds: tuple[int, ...]
    attackers: dict[str, tuple[str, ...]]
    confidence: float
    rows: tuple[ComparedRow, ...]
    not_run: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tuned: str | None = None

    @property
    def reference(self) -> ComparedRow:
        """The row of the data as they are."""
        return next(row for row in self.rows if row.method == REFERENCE)

    @property
    def readers(self) -> tuple[str, ...]:
        """The attributes that are read, whether or not the original reveals them."""
        return tuple(self.reference.runs[0].read)

    @property
    def readable(self) -> tuple[str, ...]:
        """The attributes that are surely read from the original: these count in the mean."""
        first = self.reference.runs[0].read
        return tuple(name for name, one in first.items() if one.sure)

    def gains(self, run: ComparedRun) -> dict[str, float]:
        """What one run leaves of every attribute that the original reveals, 0..1."""
        original = self.reference.runs[0].read
        found = {}
        for name in self.readable:
            before, after = original[name], run.read[name]
            room = before.accuracy - before.majority
            found[name] = min(max((after.accuracy - after.majority) / room, 0.0), 1.0)
        return found

    def kept(self, row: ComparedRow) -> float | None:
        """The mean gain of a row over attributes and seeds; None if nothing can be read."""
        each = [fmean(self.gains(run).values()) for run in row.runs if self.readable]
        return fmean(each) if each else None

    def kept_spread(self, row: ComparedRow) -> float | None:
        """The standard deviation of the mean gain over seeds; None for one seed."""
        each = [fmean(self.gains(run).values()) for run in row.runs if self.readable]
        return pstdev(each) if len(each) > 1 else None

    def accuracy(self, row: ComparedRow, name: str) -> float:
        """The mean accuracy of the readers of one attribute."""
        return fmean(run.read[name].accuracy for run in row.runs)

    def excess(self, row: ComparedRow) -> float:
        """How far a row lies above its limits, summed over them; 0: it meets them all."""
        return sum(max(row.leak(limit.name).excess(limit), 0.0) for limit in self.limits)

    def within(self, row: ComparedRow) -> bool:
        """Whether a row may be the best: within all limits and, without a budget, proved."""
        able = bool(row.runs) and (self.budget is not None or row.proved)
        return able and self.excess(row) == 0

    @property
    def best(self) -> ComparedRow | None:
        """The row within the limits that keeps most; None if there is none."""
        able = [row for row in self.rows if self.within(row) and self.kept(row) is not None]
        return max(able, key=lambda row: self.kept(row) or 0.0, default=None)

    def to_dict(self) -> dict[str, Any]:
        """All figures as JSON values; `kept` and `within` are computed for each row."""
        found = self.model_dump(mode="json")
        for row, made in zip(self.rows, found["rows"], strict=True):
            made["kept"] = self.kept(row)
            made["within"] = self.within(row)
        return found | {"best": None if self.best is None else self.best.label}


def limits_of(given: tuple[Limit, ...], suppress: tuple[str, ...]) -> tuple[Limit, ...]:
    """The limits of a budget, and `floor+1` for suppressed attributes that it does not name."""
    named = {limit.name for limit in given}
    rest = [Limit(n, f"{n}<=floor+1", NEAR, above_floor=True) for n in suppress if n not in named]
    return (*given, *rest)
