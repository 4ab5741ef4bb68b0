"""`withhold bench audit-engines`: the same audit with its attacks on every engine.

The engine is up before the clock starts. The evidence is compared: it must be the same everywhere.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from withhold.actions.audit import audit
from withhold.actions.engine_options import EngineOptions
from withhold.actions.fit import fit_bundle
from withhold.bench.recipe import Recipe
from withhold.bench.result_table import BenchResult, Cells
from withhold.core.progress import Progress
from withhold.datasets.public import public
from withhold.learn.nets.device import core_count
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

_TIMES = ("made", "seconds")  # of the evidence: when it was made, and how long it took


class EngineAudits(BaseModel):
    """The settings of the recipe."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: str = Field("audiomnist", description="a public dataset by its name")
    suppress: str = "speaker"
    preserve: str = "digit"
    hidden: tuple[str, ...] = ("accent", "gender")
    method: str = "leace"
    quick: bool = False
    engines: tuple[str, ...] = Field(
        ("local:1", "local:2", "ray:1", "ray:2"), description="each as NAME:WORKERS"
    )


@dataclass(frozen=True)
class EngineAudit:
    """Seconds of the attacks on one engine, and a hash of the evidence."""

    engine: str
    attacks: float
    evidence: str


@dataclass(frozen=True)
class AuditEngines(BenchResult):
    """The attacks of one audit on every engine."""

    records: int
    features: int
    cores: int
    rows: tuple[EngineAudit, ...]
    command, file = "audit-engines", "audit-engines.json"

    @property
    def title(self) -> str:
        """The size of the data."""
        return f"The attacks of an audit of {self.records:,} x {self.features} on every engine"

    @property
    def same_evidence(self) -> bool:
        """Whether every engine found the same, to the last bit."""
        return len({row.evidence for row in self.rows}) == 1

    def cells(self) -> Cells:
        """A line for each engine."""
        took = {row.engine: row.attacks for row in self.rows}
        lines = []
        for row in self.rows:
            one = took.get(f"{row.engine.partition(':')[0]}:1")
            ratio = "" if one is None else f"{one / row.attacks:.2f}"
            lines.append([row.engine, f"{row.attacks:.1f}", ratio, row.evidence[:12]])
        return ["engine", "attacks, s", "over one worker", "evidence"], lines

    @property
    def legend(self) -> str:
        """What the columns mean, and the aim."""
        same = "the same evidence" if self.same_evidence else "DIFFERENT EVIDENCE"
        return (
            f"{self.cores} cores. attacks: seconds from the first attack to the last, with the"
            " engine up before. over one worker: speed relative to one worker of the same engine"
            f" (aim: two Ray workers 1.6). All engines found {same}."
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures, for a program."""
        return asdict(self) | {"same_evidence": self.same_evidence}


def run_audit_engines(
    recipe: Recipe, output: Path, *, progress: Progress, data: Dataset | None = None
) -> AuditEngines:
    """Audit the same release with the attacks on every engine of the recipe."""
    sizes = EngineAudits(**recipe.data_settings)
    if data is None:
        data = public(sizes.data, progress=progress)
    roles = Roles.of(sizes.suppress, sizes.preserve)
    bundle = fit_bundle(data, roles, method=sizes.method, progress=progress)
    release = data.with_features(bundle.modifier.transform(data.x)).without(data.attribute_names)
    rows = []
    for name in sizes.engines:
        kind, _, workers = name.partition(":")
        options = EngineOptions(engine=kind, workers=int(workers) if workers else None)
        with options.open(progress) as engine:
            list(engine.map(_up, range(4 * engine.workers)))
            found = audit(
                data,
                release,
                roles.suppress,
                roles.preserve,
                hidden=sizes.hidden,
                same_order=True,
                order_counts=False,
                quick=sizes.quick,
                workers=options.workers,
                engine=engine,
                progress=progress,
            )
        digest = sha256(json.dumps(timeless(found.to_dict())).encode()).hexdigest()
        rows.append(EngineAudit(name, found.seconds["attacks"], digest))
    return AuditEngines(len(data), data.dimension, core_count(), tuple(rows)).write(output)


def timeless(found: Any) -> Any:
    """Evidence without its times, which differ from run to run."""
    if isinstance(found, dict):
        return {name: timeless(value) for name, value in found.items() if name not in _TIMES}
    return [timeless(value) for value in found] if isinstance(found, list | tuple) else found


def _up(_: int) -> int:
    """A task that makes a worker import what attacks need."""
    import withhold.audit.evaluate  # noqa: F401

    return core_count()
