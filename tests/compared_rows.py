"""Rows of a comparison with chosen figures, for tests of its rules and of its page."""

from __future__ import annotations

from typing import Any

from withhold.audit.comparison import ComparedRow, ComparedRun, Comparison, limits_of
from withhold.methods.features.codebook.budget import read_budget


def row(
    label: str,
    *,
    attack: float,
    upper: float | None = None,
    proved: float | None = None,
    colour: float = 0.9,
    shape: float = 0.5,
    bits: float = 0.1,
    seed: int = 0,
) -> ComparedRow:
    """A row of one run about `secret` (floor 0.5) that reads `colour` (guess 0.3) and `shape`."""
    leak: dict[str, Any] = {"accuracy": attack, "ci": (attack - 0.05, upper or attack + 0.05)}
    leak |= {"floor": 0.5, "bits": bits, "attacker": "trees"}
    if proved is not None:
        leak |= {"proved": proved, "proved_floor": 0.52, "proof": "these records"}
    read = {
        "colour": {"accuracy": colour, "majority": 0.3, "sure": True},
        "shape": {"accuracy": shape, "majority": 0.5, "sure": False},
    }
    run = {"seed": seed, "leaks": {"secret": leak}, "read": read}
    run |= {"fit_seconds": 1.0, "read_seconds": 2.0}
    made = ComparedRun.model_validate(run)
    return ComparedRow(label=label, method=label.split(",")[0], config={}, runs=(made,))


def compared(*rows: ComparedRow, budget: str | None = None) -> Comparison:
    limits = () if budget is None else read_budget(budget, ("secret",))
    return Comparison(
        version="0", data="d", kind="features", records=100, test_records=20, suppress=("secret",),
        preserve=(), budget=budget, limits=limits_of(limits, ("secret",)), seeds=(0,),
        attackers={"few": ("trees",), "many": ("nearest",)}, confidence=0.95,
        rows=(row("identity", attack=0.95), *rows),
    )  # fmt: skip
