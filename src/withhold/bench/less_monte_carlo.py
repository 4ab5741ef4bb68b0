"""Certificates with less work than usual, where thousands of them are made.

Less Monte Carlo makes a bound larger, or one that is computed exactly an estimate with a margin. A
claim must hold all the same, so a check of claims may use it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from withhold.certificate import linked_bound, plan_linked, rows_left

_LESS = (
    (plan_linked, "_WORK", 600_000),
    (linked_bound, "_WORK", 4_000_000),
    (linked_bound, "_MUCH_WORK", 10_000_000),
    (rows_left, "_WORK", 100_000_000),
)


@contextmanager
def less_monte_carlo() -> Iterator[None]:
    """Within it, certificates are made with about a twentieth of the work."""
    with ExitStack() as stack:
        for module, name, value in _LESS:
            stack.enter_context(patch.object(module, name, value))
        yield
