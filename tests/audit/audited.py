"""What tests of the whole audit share: a quick ladder, attackers that spy, records that count."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from withhold.audit import evaluate
from withhold.audit.attackers import Logistic, Mlp, Prior
from withhold.audit.attackers.attacker import Attacker, FittedAttacker
from withhold.audit.evidence import Evidence
from withhold.audit.setting_groups import Claims, Effort, Pairing
from withhold.datasets.worlds import World, gaussian
from withhold.records.dataset import Dataset

# Attackers that are quick, and strong enough for what leaks plainly.
LINEAR = (Logistic(),)
QUICK = (Prior(), Logistic(), Mlp(hidden=(32,), epochs=10, steps=200))


def audit(original, release, suppress="secret", preserve="useful", **more) -> Evidence:
    """A quick audit with the linear attacker, here and not in other processes.

    Worlds of people have their records side by side: row order is left to tests of its own.

    The release is what a door of the package would let out: features and harmless columns.
    """
    options = {"attackers": LINEAR, "quick": True, "workers": 1, "order_counts": False} | more
    named = suppress.split(",") if isinstance(suppress, str) else suppress
    again = [leaving(one, named) for one in options.pop("again", ())]
    release = None if release is None else leaving(release, named)
    if release is not None and options.get("id") is None:
        options.setdefault("same_order", not _tell_apart(original, release))
    return evaluated(original, release, suppress, preserve, again=again, **options)


def evaluated(original, release, suppress, preserve=(), **options) -> Evidence:
    """`evaluate`, whose settings are given one by one and grouped here."""

    def grouped(cls: type) -> Any:
        return cls(**{f.name: options.pop(f.name) for f in fields(cls) if f.name in options})

    groups = {"pairing": grouped(Pairing), "effort": grouped(Effort), "claims": grouped(Claims)}
    return evaluate(original, release, suppress, preserve, **groups, **options)


def _tell_apart(original: Dataset, release: Dataset) -> bool:
    both = {*original.table.column_names} & {*release.table.column_names} - {"split"}
    return bool(both)


def leaving(release: Dataset, suppress) -> Dataset:
    """The release without suppressed columns and the group."""
    gone = [n for n in (*suppress, release.group) if n is not None]
    return release.without(
        [n for n in gone if n in (*release.table.column_names, *release.multilabel)]
    )


def world(n: int = 2500, **more: Any) -> World:
    """`secret` and `useful`, each read in 98 of 100 records."""
    options = {"separation_suppress": 2.0, "separation_preserve": 2.0} | more
    return gaussian.two_attributes(n, 12, **options)


def numbered(n: int = 100, **columns: Any) -> Dataset:
    """Records whose first feature is their number."""
    x = np.column_stack([np.arange(n), np.arange(n) % 3])
    base = {"secret": np.arange(n) % 2, "useful": np.arange(n) // 2 % 2}
    return Dataset.from_arrays(x, base | columns)


def without_times(evidence: Evidence) -> dict[str, Any]:
    """All that an audit found, but not when and how fast."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in ("seconds", "made")}
        return [strip(v) for v in value] if isinstance(value, list) else value

    found: dict[str, Any] = strip(evidence.to_dict())
    return found


@dataclass
class Spy(Attacker):
    """An attacker that notes what it is shown, and knows nothing."""

    name: ClassVar[str] = "spy"
    view: ClassVar[str] = "standard"
    seen: list = field(default_factory=list)
    asked: list = field(default_factory=list)

    def fit(self, x, attribute, x_val, attribute_val, *, seed):
        self.seen.append((attribute.name, x, x_val, attribute.codes, attribute_val.codes, seed))
        return Blind(len(attribute.classes), self.asked)

    def cost(self, n, d, classes):
        return 0.1


@dataclass
class Blind(FittedAttacker):
    """A fitted attacker, or a model of somebody else's, that notes what it is asked about."""

    classes: int
    asked: list = field(default_factory=list)

    def logits(self, x):
        self.asked.append(x)
        return np.zeros((len(x), self.classes), np.float32)
