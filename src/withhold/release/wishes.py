"""What a user may ask of a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from withhold.core.errors import UserError
from withhold.core.lists import split_names

MOST_HELD_BACK = 0.5


@dataclass(frozen=True)
class Wishes:
    """Columns and rows that the user decides about.

    keep: columns to release even if they reveal something; drop: columns to leave out;
    keep_labels: keep the suppressed attributes and copies of them; same_order: keep the row order;
    hold_back: the share of the rows that stay, drawn at random by the key (see `held_back`).
    """

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep_labels: bool = False
    same_order: bool = False
    hold_back: float = 0.0

    def __post_init__(self) -> None:
        if self.hold_back and self.same_order:
            raise UserError(
                "rows cannot be held back in the order of the original, which shows where one is"
                " missing; leave out --hold-back or --same-order"
            )
        if not 0 <= self.hold_back <= MOST_HELD_BACK:
            raise UserError(
                f"hold_back is {self.hold_back:g}; it is a share of the rows, from 0 to"
                f" {MOST_HELD_BACK:g} (0.1 holds a tenth back)"
            )

    def refuse_hold_back(self, what: str) -> None:
        """Refuse to hold rows back where the release cannot."""
        if self.hold_back:
            raise UserError(
                f"rows of {what} cannot be held back; use withhold release, or withhold.release"
            )

    @classmethod
    def of(
        cls,
        *,
        keep: Sequence[str] | str = (),
        drop: Sequence[str] | str = (),
        keep_labels: bool = False,
        same_order: bool = False,
        hold_back: float | str = 0.0,
    ) -> Wishes:
        """From lists, or from comma-separated text; a share as 0.1 or as "10%"."""
        kept, dropped = _names(keep), _names(drop)
        for name in kept:
            if name in dropped:
                raise UserError(f"column '{name}' is in both --keep and --drop; choose one")
        return cls(kept, dropped, keep_labels, same_order, _share(hold_back))


def _names(given: Sequence[str] | str) -> tuple[str, ...]:
    pieces = [given] if isinstance(given, str) else given
    return tuple(dict.fromkeys(name for piece in pieces for name in split_names(piece)))


def _share(given: float | str) -> float:
    if not isinstance(given, str):
        return float(given)
    text, percent = given.strip().removesuffix("%").strip(), given.strip().endswith("%")
    try:
        number = float(text)
    except ValueError:
        raise UserError(
            f"--hold-back is '{given}'; write a share of the rows, such as 10% or 0.1"
        ) from None
    if not percent and number >= 1:
        raise UserError(f"--hold-back is '{given}'; write {given}% for {number:g} of 100 rows")
    return number / 100 if percent else number
