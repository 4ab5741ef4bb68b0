"""The settings of an audit in groups: pairing of records, effort of the attack, claims to check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from withhold.audit.attack import RecordLimits
from withhold.audit.attack_plan import ladder
from withhold.audit.attackers.attacker import Attacker, Prediction
from withhold.certificate import Certificate
from withhold.certificate.release_file import ReleaseCertificate

_QUICK = RecordLimits(train=6_000, val=2_000, test=10_000)


@dataclass(frozen=True)
class Pairing:
    """Which record of the release is which of the original.

    id: the column that tells records apart. same_order: the user vouches that both have the same
    order, where nothing else tells. order_counts: rows leave in the order that they have in the
    release, so an attacker sees the place of each one.
    """

    id: str | None = None
    same_order: bool = False
    order_counts: bool = True


@dataclass(frozen=True)
class Effort:
    """How hard the audit attacks.

    attackers: a ladder other than the default one. models: models of the originals that exist
    already, by attribute (the frozen ones of a method). quick: fewer attackers on fewer records,
    which is a weaker audit. workers: processes, by default one for each core.
    """

    attackers: Sequence[Attacker] | None = None
    models: Mapping[str, Prediction] = field(default_factory=dict)
    quick: bool = False
    workers: int | None = None
    seed: int = 0

    @property
    def ladder(self) -> tuple[Attacker, ...]:
        """The attackers, weakest first."""
        return ladder(self.quick) if self.attackers is None else tuple(self.attackers)

    @property
    def limits(self) -> RecordLimits:
        """The most records that attackers are shown."""
        return _QUICK if self.quick else RecordLimits()


@dataclass(frozen=True)
class Claims:
    """What is claimed of the release, and the key that shows that the claim was not changed.

    certificate: a bound on every attacker, or the certificate of this very release, which is
    checked against its rows.
    """

    certificate: Certificate | ReleaseCertificate | None = None
    key: bytes | str | Path | None = field(default=None, repr=False)


NO_CLAIMS = Claims()
BY_COLUMNS = Pairing()
FULL_EFFORT = Effort()
