"""`withhold bench audit-speed`: seconds and memory of a whole audit, and of a quick one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from withhold.actions.audit import audit as evaluate
from withhold.actions.fit import fit_bundle
from withhold.bench.process_memory import MemoryWatch
from withhold.bench.result_table import BenchResult, Cells, percent
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
class AuditSpeedResult(BenchResult):
    """A full audit and a quick one of the same release."""

    records: int
    features: int
    cores: int
    audits: tuple[AuditSpeed, ...]
    command, file = "audit-speed", "audit-speed.json"
    legend = "Aims: a full audit takes at most 240 s and 4 GiB, a quick one at most 45 s."

    @property
    def title(self) -> str:
        """The size of the data."""
        size = f"{self.records:,} x {self.features:,}, {len(MEASURED)} attributes"
        return f"Audits of {size}, {self.cores} cores"

    def cells(self) -> Cells:
        """A line for each audit."""
        header = ["audit", "seconds", "of these", "GiB", "speaker read, %", "by"]
        lines = []
        for a in self.audits:
            parts = ", ".join(f"{name} {s:.0f} s" for name, s in a.parts.items())
            figures = [f"{a.gibibytes:.2f}", percent(a.informed), a.attacker]
            lines.append([a.name, f"{a.seconds:.0f}", parts, *figures])
        return header, lines


def measure_audit_speed(output: Path, *, progress: Progress) -> AuditSpeedResult:
    """A full and a quick audit of `leace` on AudioMNIST."""
    data = public("audiomnist", progress=progress)
    roles = Roles.of("speaker", "digit")
    bundle = fit_bundle(data, roles, method="leace", progress=progress)
    release = data.with_features(bundle.modifier.transform(data.x)).without(data.attribute_names)

    audits = []
    for quick in (False, True):
        started = time.perf_counter()
        with MemoryWatch() as watch:
            evidence = evaluate(
                data,
                release,
                roles.suppress,
                roles.preserve,
                hidden=[name for name in MEASURED if name not in roles.named],
                same_order=True,
                order_counts=False,
                quick=quick,
                progress=progress,
            )
        seconds, found = time.perf_counter() - started, evidence.attributes["speaker"].informed
        audits.append(
            AuditSpeed(
                "quick" if quick else "full",
                seconds,
                watch.peak / 2**30,
                evidence.seconds,
                found.accuracy,
                found.attacker,
            )
        )
    return AuditSpeedResult(len(data), data.dimension, core_count(), tuple(audits)).write(output)
