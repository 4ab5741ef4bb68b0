"""The rows of a comparison: which methods with which settings, and which cannot be tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from withhold.actions.compare_case import CompareCase
from withhold.core.errors import UserError, did_you_mean, listing

METHODS = ("identity", "leace", "noise", "pass", "mass-it", "codebook", "exact")
# The data as they are come first, then what proves most; the slowest methods come last.
_FIRST = ("identity", "exact", "leace", "noise", "codebook", "pass", "mass-it")
_MOST_CLASSES = 20  # of a suppressed attribute of a table, for mass-it
SIGMAS = (1.0, 3.0)
PARTS = (4, 16)  # the default number of codes of `exact` is divided by these


@dataclass(frozen=True)
class RowPlan:
    """A row to make. `part`: with this part of the codes that `exact` chooses by itself."""

    label: str
    method: str
    config: dict[str, Any] = field(default_factory=dict)
    part: int | None = None
    skipped: str | None = None


def row_plans(case: CompareCase, methods: Sequence[str], budget: str | None) -> tuple[RowPlan, ...]:
    """The rows in the order of the table; `identity` is always the first."""
    for name in methods:
        if name not in METHODS:
            hint = did_you_mean(name, METHODS) or f" (methods: {listing(METHODS)})"
            raise UserError(f"'{name}' is not a method that compare tries{hint}")
    chosen = [name for name in METHODS if name == "identity" or name in (methods or METHODS)]
    return tuple(plan for name in chosen for plan in _rows_of(name, case, budget))


def in_running_order(plans: Sequence[RowPlan]) -> list[RowPlan]:
    """The order in which rows are made: those of part of the codes follow all quick rows."""
    return sorted(plans, key=lambda p: _FIRST.index(p.method) + (3.5 if p.part else 0))


def _rows_of(name: str, case: CompareCase, budget: str | None) -> list[RowPlan]:
    if name == "noise":
        return [RowPlan(f"noise, sigma {s:g}", name, {"sigma": s}) for s in SIGMAS]
    if name == "codebook":
        return [RowPlan(name, name, {} if budget is None else {"budget": budget})]
    if name == "exact":
        parts = [RowPlan(f"exact, 1/{p} of the codes", name, part=p) for p in PARTS]
        return [RowPlan(name, name), *parts]
    if name == "mass-it" and case.kind == "table":
        for one in case.roles.suppress:
            classes = len(case.data.attribute(one).classes)
            if classes > _MOST_CLASSES:
                why = (
                    f"'{one}' has {classes:,} classes; on a table mass-it is tried with at most"
                    f" {_MOST_CLASSES}"
                )
                return [RowPlan(name, name, skipped=why)]
    return [RowPlan(name, name)]


def with_part(plan: RowPlan, default: int | None, taken: Sequence[int]) -> RowPlan:
    """The plan with its number of codes, once the default number is known."""
    if plan.part is None:
        return plan
    if default is None:
        return RowPlan(plan.label, plan.method, skipped="exact with all its codes was not run")
    codes = max(default // plan.part, 2)
    if codes >= default or codes in taken:
        why = f"exact has only {default:,} codes here; there is nothing smaller to try"
        return RowPlan(plan.label, plan.method, skipped=why)
    return RowPlan(plan.label, plan.method, {"codes": codes}, plan.part)
