"""`withhold bench audit-speed`: seconds and memory of a whole audit, and of a quick one."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from withhold.actions.audit import audit as evaluate
from withhold.actions.fit import fit_bundle
from withhold.audit.evidence import Evidence
from withhold.core.atomic import write_bytes
from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.datasets.public import public
from withhold.learn.nets.device import core_count
from withhold.records.roles import Roles

MEASURED = ("speaker", "digit", "accent", "gender")


@dataclass(frozen=True)
class AuditSpeed:
    """One audit: what it took, and what it found of the suppressed attribute."""

    name: str
    seconds: float
    gibibytes: float
    parts: dict[str, float]
    informed: float
    attacker: str


@dataclass(frozen=True)
class AuditSpeedResult:
    """A full audit and a quick one of the same release."""

    records: int
    features: int
    cores: int
    audits: tuple[AuditSpeed, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything, for a machine."""
        return asdict(self)

    def print(self) -> None:
        """The figures in a terminal."""
        for a in self.audits:
            parts = ", ".join(f"{name} {s:.0f} s" for name, s in a.parts.items())
            print(
                f"{a.name} audit of {self.records:,} x {self.features:,}, {len(MEASURED)}"
                f" attributes, {self.cores} cores: {a.seconds:.0f} s ({parts}),"
                f" {a.gibibytes:.2f} GiB; speaker read {100 * a.informed:.1f} % by {a.attacker}"
            )
        print("aims: full at most 240 s and 4 GiB, quick at most 45 s")


def measure_audit_speed(output: Path, *, progress: Progress) -> AuditSpeedResult:
    """Audit `leace` on AudioMNIST with everything, then quickly."""
    data = public("audiomnist", progress=progress)
    roles = Roles.of("speaker", "digit")
    bundle = fit_bundle(data, roles, method="leace", progress=progress)
    release = data.with_features(bundle.modifier.transform(data.x)).without(data.attribute_names)

    def run(*, quick: bool) -> Evidence:
        hidden = [name for name in MEASURED if name not in roles.named]
        return evaluate(
            data,
            release,
            roles.suppress,
            roles.preserve,
            hidden=hidden,
            same_order=True,
            order_counts=False,
            quick=quick,
            progress=progress,
        )

    audits = tuple(
        _timed("quick" if quick else "full", partial(run, quick=quick)) for quick in (False, True)
    )
    result = AuditSpeedResult(len(data), data.dimension, core_count(), audits)
    text = json.dumps(result.to_dict(), indent=1)
    write_bytes(output / "audit-speed.json", text.encode() + b"\n")
    return result


def _timed(name: str, audit: Callable[[], Evidence]) -> AuditSpeed:
    watch = _MemoryWatch()
    started = time.perf_counter()
    with watch:
        evidence = audit()
    seconds = time.perf_counter() - started
    found = evidence.attributes["speaker"].informed
    return AuditSpeed(
        name, seconds, watch.peak / 2**30, evidence.seconds, found.accuracy, found.attacker
    )


class _MemoryWatch(threading.Thread):
    """The peak memory of this process and those it started, each shared page counted once."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        if not Path("/proc/self/smaps_rollup").exists():
            raise UserError("bench audit-speed reads /proc/self/smaps_rollup, which is not here")
        self.peak = 0
        self._over = threading.Event()

    def __enter__(self) -> _MemoryWatch:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        """Look several times a second."""
        while not self._over.wait(0.3):
            self.peak = max(self.peak, sum(_bytes(process) for process in _family()))


def _family() -> list[Path]:
    """This process and all below it, as folders of /proc."""
    import os

    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text()
            except OSError:
                continue  # it has ended
            parent = int(stat.rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(folder.name))
    found, fresh = [], [os.getpid()]
    while fresh:
        found += fresh
        fresh = [child for parent in fresh for child in parents.get(parent, [])]
    return [Path("/proc") / str(process) for process in found]


def _bytes(process: Path) -> int:
    try:
        lines = (process / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
