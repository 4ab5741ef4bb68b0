"""What tests of the whole audit share: a quick ladder, attackers that spy, records that count."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from withhold.audit import evaluate
from withhold.audit.attackers import Logistic, Mlp, Prior
from withhold.audit.evidence import Evidence
from withhold.data.worlds import World, gaussian
from withhold.dataset import Dataset

# Attackers that are quick, and strong enough for what leaks plainly.
LINEAR = (Logistic(),)
QUICK = (Prior(), Logistic(), Mlp(hidden=(32,), epochs=10, steps=200))


def audit(original, release, suppress="secret", preserve="useful", **more) -> Evidence:
    """A quick audit with the linear attacker, here and not in other processes."""
    options = {"attackers": LINEAR, "quick": True, "workers": 1} | more
    return evaluate(original, release, suppress, preserve, **options)


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
class Spy:
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
class Blind:
    """A fitted attacker, or a model of somebody else's, that notes what it is asked about."""

    classes: int
    asked: list = field(default_factory=list)

    def logits(self, x):
        self.asked.append(x)
        return np.zeros((len(x), self.classes), np.float32)
