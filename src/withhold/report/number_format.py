"""Figures as people read them: percent, `98 of 100`, intervals, durations. None and NaN are `–`."""

from __future__ import annotations

import math

from withhold.certificate.claim_wording import at_most

NONE = "–"
_SPACE = "\N{NO-BREAK SPACE}"


def percent(share: float | None) -> str:
    """`98.4 %`."""
    return NONE if _missing(share) else f"{points(share)}{_SPACE}%"


def at_most_percent(bound: float) -> str:
    """A bound, rounded up: rounded down it would promise more than is proved. `10.2 %`."""
    return percent_of(at_most(bound))


def percent_of(figure: str) -> str:
    """A figure that is rounded already, with the sign: `10.2 %`."""
    return f"{figure}{_SPACE}%"


def points(share: float | None) -> str:
    """A share in percent without the sign, for columns that say so: `98.4`."""
    return NONE if share is None or _missing(share) else f"{100 * share:.1f}"


def span(ci: tuple[float, float] | None) -> str:
    """An interval of shares in percent: `97.9–98.8`."""
    if ci is None or any(map(_missing, ci)):
        return ""
    return f"{points(ci[0])}–{points(ci[1])}"


def bits(value: float | None) -> str:
    """`5.82`, or `0` where nothing is there."""
    return NONE if value is None or _missing(value) else f"{value:.2f}"


def bits_span(ci: tuple[float, float] | None) -> str:
    """An interval in bits."""
    return "" if ci is None or any(map(_missing, ci)) else f"{bits(ci[0])}–{bits(ci[1])}"


def seconds(value: float | None) -> str:
    """`0.4 s`, `38 s`, `12 min 5 s`, `2 h 3 min`."""
    if value is None or _missing(value):
        return NONE
    if value < 9.95:
        return f"{value:.1f}{_SPACE}s"
    whole = round(value)
    if whole < 60:
        return f"{whole}{_SPACE}s"
    if whole < 3600:
        return f"{whole // 60}{_SPACE}min {whole % 60}{_SPACE}s"
    return f"{whole // 3600}{_SPACE}h {whole % 3600 // 60}{_SPACE}min"


def count(value: int) -> str:
    """`30,000`."""
    return f"{value:,}"


def counted(value: int, noun: str) -> str:
    """`1 record`, `2,000 records`."""
    return f"{value:,}{_SPACE}{noun}{'' if value == 1 else 's'}"


def out_of(*shares: float, apart: bool = True) -> tuple[str, ...]:
    """Shares as whole counts out of 100; `apart`: out of 1,000 where two would look equal.

    A share that is neither 0 nor 1 never reads as none or all: `fewer than 1 of 100`.
    """
    rounded = {round(100 * s) for s in shares if not _missing(s)}
    different = {round(1000 * s) for s in shares if not _missing(s)}
    base = 1000 if apart and len(rounded) < len(different) else 100
    return tuple(_of(share, base) for share in shares)


def _of(share: float, base: int) -> str:
    if _missing(share):
        return NONE
    whole = round(base * share)
    if whole == 0 and share > 0:
        return f"fewer than 1{_SPACE}of{_SPACE}{base:,}"
    if whole == base and share < 1:
        return f"more than {base - 1:,}{_SPACE}of{_SPACE}{base:,}"
    return f"{whole:,}{_SPACE}of{_SPACE}{base:,}"


def _missing(value: float | None) -> bool:
    return value is None or not math.isfinite(value)
