"""How much may leak (`speaker<=floor+1; gender<=60; accent<=0.2 bits`), and how much does.

Points and per cent are the accuracy of an attacker with one record; bits are usable information.
Both are measured on the calibration records with the best attacker on codes: the table P(s | j),
learned from the fitted records and, in two halves, from the calibration records themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.methods.channel import IntArray
from withhold.methods.modifier import FloatArray

_NUMBER = r"(\d+(?:\.\d+)?)"
_LINE = re.compile(
    rf"^\s*(?P<name>.+?)\s*<=\s*(?:floor\s*(?:\+\s*{_NUMBER})?|{_NUMBER}\s*(?P<unit>bits|%)?)\s*$"
)


@dataclass(frozen=True)
class Limit:
    """One line of a budget. Accuracy is a fraction, above the floor if `above_floor`."""

    name: str
    text: str
    value: float
    above_floor: bool = False
    bits: bool = False

    def most(self, floor: float) -> float:
        """The limit, given the floor of the attribute."""
        return self.value + (floor if self.above_floor else 0.0)


def read_budget(text: str, suppress: tuple[str, ...]) -> tuple[Limit, ...]:
    """The limits in a budget; each must name a suppressed attribute."""
    limits = []
    for line in re.split(r"[;\n]", text):
        if not line.strip():
            continue
        found = _LINE.match(line)
        if found is None:
            raise UserError(
                f"budget '{line.strip()}' cannot be read; write NAME<=floor+POINTS, NAME<=PER"
                " CENT, or NAME<=NUMBER bits, separated by ';'"
            )
        name = found["name"]
        if name not in suppress:
            raise UserError(
                f"budget '{line.strip()}': '{name}' is not suppressed"
                f"{did_you_mean(name, suppress) or f' (suppressed: {listing(suppress)})'}"
            )
        above, plain = found[2], found[3]
        if found["unit"] == "bits":
            limits.append(Limit(name, line.strip(), float(plain), bits=True))
        elif plain is not None:
            if float(plain) > 100:
                raise UserError(f"budget '{line.strip()}': an accuracy cannot exceed 100 %")
            limits.append(Limit(name, line.strip(), float(plain) / 100))
        else:
            limits.append(Limit(name, line.strip(), float(above or 0) / 100, above_floor=True))
    if not limits:
        raise UserError("the budget is empty; write e.g. speaker<=floor+1")
    return tuple(limits)


@dataclass(frozen=True)
class Leak:
    """What the best attacker on codes gets: accuracy (0..1), and bits."""

    accuracy: float
    bits: float


def measure_leak(
    w_fit: FloatArray, s_fit: IntArray, w: FloatArray, s: IntArray, classes: int
) -> Leak:
    """The stronger of two attackers on calibration records w (m, N), s (m,)."""
    half = np.arange(len(s)) % 2 == 0
    # Alternate the records of each class, so that both halves have all classes.
    order = np.argsort(s, kind="stable")
    fold = np.empty(len(s), bool)
    fold[order] = half
    own = [(_attack(_table(w[f], s[f], classes), w[~f], s[~f]), (~f).sum()) for f in (fold, ~fold)]
    fitted = _attack(_table(w_fit, s_fit, classes), w, s)
    accuracy = max(sum(a.accuracy * n for a, n in own) / max(len(s), 1), fitted.accuracy)
    bits = sum(a.bits * n for a, n in own) / max(len(s), 1)
    return Leak(
        float(accuracy), max(float(bits), fitted.bits, _fano(float(accuracy), s, classes), 0.0)
    )


def _fano(accuracy: float, s: IntArray, classes: int) -> float:
    """The least bits for such an accuracy (Fano): H(S) - h(e) - e log2(K - 1).

    A table from few records is confident in wrong classes, so its own bits are too low.
    """
    p = np.bincount(s, minlength=classes) / max(len(s), 1)
    p = p[p > 0]
    e = min(max(1 - accuracy, 1e-12), 1 - 1e-12)
    doubt = -e * np.log2(e) - (1 - e) * np.log2(1 - e) + e * np.log2(max(classes - 1, 1))
    return float(-(p * np.log2(p)).sum() - doubt)


def _table(w: FloatArray, s: IntArray, classes: int) -> npt.NDArray[np.float64]:
    """Summed probabilities (K, N), plus a small share of the class for unseen codes."""
    table = np.zeros((classes, w.shape[1]))
    order = np.argsort(s, kind="stable")
    found, starts = np.unique(s[order], return_index=True)
    if len(found):
        table[found] = np.add.reduceat(w[order], starts, axis=0, dtype=np.float64)
    count = table.sum(axis=1, keepdims=True)
    overall = w.mean(axis=0, dtype=np.float64) + 1e-9
    smooth: npt.NDArray[np.float64] = (table + 2 * overall / overall.sum()) * count / (count + 2)
    return smooth


def _attack(table: npt.NDArray[np.float64], w: FloatArray, s: IntArray) -> Leak:
    """Guess the likeliest class of each code; probabilities, not draws, are counted."""
    n, guess = max(len(s), 1), table.argmax(axis=0)
    hits = float((w * (guess[None, :] == s[:, None])).sum(dtype=np.float64)) / n
    prior = np.log2(table.sum(axis=1) / table.sum() + 1e-300)
    posterior = np.log2(table / table.sum(axis=0, keepdims=True) + 1e-300)
    gain = (posterior - prior[:, None])[s]
    return Leak(hits, float((w * gain).sum(dtype=np.float64)) / n)
