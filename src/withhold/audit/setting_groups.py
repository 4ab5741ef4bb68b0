"""The settings of an audit, in groups: pairing of records, effort of attack, claims to check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from withhold.audit.attack import RecordLimits
from withhold.audit.attack_plan import ladder
from withhold.audit.attackers.attacker import OF_PIXELS, Attacker, PixelKind, Prediction
from withhold.certificate.claims import Certificate
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.errors import UserError
from withhold.release.engines.engine import Engine

_QUICK = RecordLimits(train=6_000, val=2_000, test=10_000)


@dataclass(frozen=True)
class Pairing:
    """How to match the records of the release to the original.

    id: the column that identifies records. same_order: the user vouches that both files have the
    same order. order_counts: whether rows leave in the order of the release, so that an attacker
    sees the position of each one.
    """

    id: str | None = None
    same_order: bool = False
    order_counts: bool = True


@dataclass(frozen=True)
class Effort:
    """How hard the audit attacks.

    attackers: a ladder other than the default. models: existing models of the originals, by
    attribute (the frozen models of a method). quick: fewer attackers on fewer records, which is a
    weaker audit. workers: number of processes, by default one per core. engine: where attacks run
    instead, such as a Ray that is up; the evidence is the same.
    """

    attackers: Sequence[Attacker] | None = None
    models: Mapping[str, Prediction] = field(default_factory=dict)
    quick: bool = False
    workers: int | None = None
    seed: int = 0
    engine: Engine | None = field(default=None, compare=False, repr=False)

    @property
    def ladder(self) -> tuple[Attacker, ...]:
        """The attackers, weakest first."""
        return ladder(self.quick) if self.attackers is None else tuple(self.attackers)

    def on(self, *, pixels: PixelKind | None) -> Effort:
        """The effort on records whose pixels are of this kind, or that have none."""
        if self.attackers is None:
            return replace(self, attackers=ladder(self.quick, pixels=pixels))
        blind = [a for a in self.attackers if OF_PIXELS.get(a.view, pixels) != pixels]
        if blind:
            raise UserError(
                f"attacker '{blind[0].name}' needs {OF_PIXELS[blind[0].view]}s, and these records"
                f" are {'features' if pixels is None else f'{pixels}s'}"
            )
        return self

    @property
    def limits(self) -> RecordLimits:
        """The most records that attackers get."""
        return _QUICK if self.quick else RecordLimits()


@dataclass(frozen=True)
class Claims:
    """The claims about the release, and the key that verifies that they were not changed.

    certificate: a bound on every attacker, or the certificate of this release. It is checked
    against the released rows.
    """

    certificate: Certificate | ReleaseCertificate | None = None
    key: bytes | str | Path | None = field(default=None, repr=False)


NO_CLAIMS = Claims()
BY_COLUMNS = Pairing()
FULL_EFFORT = Effort()
