"""A grid of shares from 0 to 1, coarse enough that one record seldom moves a figure on it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

LEAST = 0.01  # the finest step
RECORDS = 10  # in a step
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Grid:
    """Multiples of a step, from 0 to 1."""

    step: float

    @classmethod
    def of(cls, records: int) -> Grid:
        """The grid for figures of so many records."""
        return cls(min(max(LEAST, RECORDS / tens(records)), 0.25))

    def near(self, share: float) -> float:
        """The nearest one."""
        return self._at(floor(share / self.step + 0.5))

    def up(self, share: float) -> float:
        """The next one above."""
        return self._at(ceil(share / self.step - _ROUNDING))

    def down(self, share: float) -> float:
        """The next one below."""
        return self._at(floor(share / self.step + _ROUNDING))

    def _at(self, number: int) -> float:
        return round(min(max(number * self.step, -1.0), 1.0), 6)


def tens(records: int) -> int:
    """A number of labelled records in tens: all digits tell whether the last one has a label."""
    return RECORDS * max(records // RECORDS, 1)
