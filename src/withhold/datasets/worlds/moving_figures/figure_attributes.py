"""The attributes of moving figures, and their joint distribution."""

from __future__ import annotations

from collections.abc import Sequence

from withhold.datasets.worlds.attribute_set import AttributeSet, Correlation, Shares

VALUES: dict[str, tuple[str, ...]] = {
    "action": ("wave_left", "wave_right", "clap", "jump", "squat", "walk", "turn", "lean"),
    "clothes": ("red", "orange", "yellow", "green", "teal", "blue", "purple", "black"),
    "background": ("plain", "rows", "columns", "checks", "diagonals", "dots", "rings", "floor"),
    "skin": ("light", "tan", "brown", "dark"),
    "build": ("slim", "broad"),
    "sleeves": ("short", "long"),
    "hat": ("no", "yes"),
    "pace": ("slow", "fast"),
}
FIGURES = AttributeSet("moving figures", "figures", VALUES)


def best_guess(
    attribute: str,
    known: Sequence[str],
    correlation: Correlation | None = None,
    shares: Shares | None = None,
) -> float:
    """The greatest possible accuracy of guessing an attribute from the values of others alone.

    It is sum over known values v of max_a P(attribute = a, known = v). For two balanced binary
    attributes with phi coefficient c this is (1 + |c|) / 2; for two uniform attributes with k
    values it is |c| + (1 - |c|) / k.

    >>> best_guess("action", ["background"], {("action", "background"): 0.5})
    0.5625
    """
    return FIGURES.best_guess(attribute, known, correlation, shares)
