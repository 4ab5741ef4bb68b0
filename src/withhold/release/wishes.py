"""What a user may ask of a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Wishes:
    """keep: columns to release even if they reveal something; drop: columns to leave out;
    keep_labels: keep the suppressed attributes and copies of them; same_order: keep the row order.
    """

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep_labels: bool = False
    same_order: bool = False

    @classmethod
    def of(
        cls,
        *,
        keep: Sequence[str] | str = (),
        drop: Sequence[str] | str = (),
        keep_labels: bool = False,
        same_order: bool = False,
    ) -> Wishes:
        """From lists, or from comma-separated text."""
        return cls(_names(keep), _names(drop), keep_labels, same_order)


def _names(given: Sequence[str] | str) -> tuple[str, ...]:
    pieces = [given] if isinstance(given, str) else given
    found = [name.strip() for piece in pieces for name in piece.split(",")]
    return tuple(dict.fromkeys(name for name in found if name))
