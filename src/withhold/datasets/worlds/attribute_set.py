"""The attributes of a drawn world, and their joint distribution for given shares and correlations.

A world lists its attributes and their values in an `AttributeSet`. The caller may set how often a
value occurs and how strongly two attributes are correlated; the joint distribution is then known,
and with it how well one attribute can be guessed from others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError, did_you_mean, listing

# The pair of attributes, and how strongly they are correlated, from -1 to 1.
Correlation = Mapping[tuple[str, str], float]
# The share of some values of some attributes; the values not named share the rest equally.
Shares = Mapping[str, Mapping[str, float]]
Floats = npt.NDArray[np.float64]
Codes = dict[str, npt.NDArray[np.int64]]

_STEPS, _TOLERANCE = 2000, 1e-9


@dataclass(frozen=True)
class AttributeDistribution:
    """How the attributes of a record are drawn: some jointly, all others independently."""

    names: tuple[str, ...]  # the correlated attributes
    table: Floats  # their joint distribution: an array with one axis for each
    shares: Mapping[str, Floats]  # of the values of every attribute, (k,) each

    def draw(self, n: int, rng: np.random.Generator) -> Codes:
        """The values of n records, as numbers into the values; (n,) for each attribute."""
        cells = rng.choice(self.table.size, n, p=self.table.ravel() / self.table.sum())
        found = np.unravel_index(cells, self.table.shape) if self.names else ()
        drawn = dict(zip(self.names, found, strict=True))
        for name, share in self.shares.items():
            if name not in drawn:
                uniform = (share == share[0]).all()
                drawn[name] = (
                    rng.integers(0, len(share), n)
                    if uniform
                    else rng.choice(len(share), n, p=share)
                )
        return {name: drawn[name] for name in self.shares}

    def best_guess(self, attribute: str, known: Sequence[str]) -> float:
        """sum over values v of the known attributes of max_a P(attribute = a, known = v)."""
        if attribute in known:
            return 1.0
        if attribute not in self.names:
            return float(self.shares[attribute].max())
        kept = [name for name in self.names if name == attribute or name in known]
        others = tuple(i for i, name in enumerate(self.names) if name not in kept)
        return float(self.table.sum(axis=others).max(axis=kept.index(attribute)).sum())


@dataclass(frozen=True)
class AttributeSet:
    """The attributes of a world and their values. `world` and `things` are for messages."""

    world: str  # such as "drawn faces"
    things: str  # such as "faces"
    values: Mapping[str, tuple[str, ...]]

    def distribution(
        self, correlation: Correlation | None = None, shares: Shares | None = None
    ) -> AttributeDistribution:
        """The distribution with these correlations and shares; a `UserError` if there is none.

        Attributes are independent and uniform unless told otherwise. For two binary attributes the
        coefficient is phi. A pair (a, b) with k > 2 values, which must have the same shares p, and
        coefficient c has the distribution

            P(a = i, b = j) = |c| [i = j] p_i + (1 - |c|) p_i p_j,

        with the values of b in reverse order if c is negative; if p is uniform, |c| is Cramer's V.
        With several pairs, the joint distribution is the one of greatest entropy that has all of
        these pairs (iterative proportional fitting).
        """
        for name in shares or {}:
            self.check(name)
        every = {name: self._shares_of(name, (shares or {}).get(name)) for name in self.values}
        correlation = correlation or {}
        pairs = [(pair, self._pair_table(pair, c, every)) for pair, c in correlation.items()]
        names = tuple(name for name in self.values if any(name in pair for pair in correlation))
        sizes = [len(self.values[name]) for name in names]
        table = np.full(sizes, 1.0 / math.prod(sizes))
        for _ in range(_STEPS):
            worst = 0.0
            for pair, wanted in pairs:
                axes = [names.index(name) for name in pair]
                target = wanted if axes[0] < axes[1] else wanted.T
                others = tuple(i for i in range(len(names)) if i not in axes)
                found = table.sum(axis=others, keepdims=True)
                target = target.reshape(found.shape)
                worst = max(worst, float(np.abs(found - target).max()))
                ratio = np.divide(target, found, out=np.zeros_like(found), where=found > 0)
                table = table * ratio
            if worst < _TOLERANCE:
                return AttributeDistribution(names, table, every)
        told = listing([f"{a} and {b} {c:g}" for (a, b), c in correlation.items()])
        raise UserError(
            f"no {self.things} can have these correlations together: {told}; make them weaker"
        )

    def best_guess(
        self,
        attribute: str,
        known: Sequence[str],
        correlation: Correlation | None = None,
        shares: Shares | None = None,
    ) -> float:
        """The greatest possible accuracy of guessing an attribute from the values of others."""
        for name in (attribute, *known):
            self.check(name)
        return self.distribution(correlation, shares).best_guess(attribute, known)

    def check(self, name: str) -> None:
        """Refuse a name that is no attribute."""
        if name not in self.values:
            raise UserError(
                f"{self.world} have no attribute '{name}' that can be correlated"
                f"{did_you_mean(name, self.values)} (known: {listing(self.values, most=12)})"
            )

    def _shares_of(self, name: str, given: Mapping[str, float] | None) -> Floats:
        values = self.values[name]
        given = given or {}
        for value, share in given.items():
            if value not in values:
                raise UserError(
                    f"{name} has no value '{value}'{did_you_mean(value, values)}"
                    f" (known: {listing(values, most=12)})"
                )
            if not 0 <= share <= 1:  # also refuses NaN
                raise UserError(f"the share of {name} '{value}' must be in 0..1, not {share:g}")
        rest, unnamed = 1 - sum(given.values()), len(values) - len(given)
        if rest < -_TOLERANCE or (not unnamed and rest > _TOLERANCE):
            raise UserError(f"the shares of {name} must sum to 1, not {sum(given.values()):g}")
        each = max(rest, 0) / max(unnamed, 1)
        return np.array([given.get(value, each) for value in values], np.float64)

    def _pair_table(
        self, pair: tuple[str, str], coefficient: float, shares: Mapping[str, Floats]
    ) -> Floats:
        """The joint distribution of two attributes, (k, k)."""
        if len(pair) != 2 or pair[0] == pair[1]:
            raise UserError(f"a correlation is of two different attributes, not {pair!r}")
        for name in pair:
            self.check(name)
        one, other = pair
        p, q = shares[one], shares[other]
        if len(p) != len(q):
            raise UserError(
                f"{one} has {len(p)} values and {other} has {len(q)}; a correlation needs two"
                " attributes with equally many values"
            )
        if not -1 <= coefficient <= 1:  # also refuses NaN
            raise UserError(
                f"the correlation of {one} and {other} must be in -1..1, not {coefficient:g}"
            )
        if len(p) == 2:
            return _binary_table(pair, coefficient, p, q)
        turn = -1 if coefficient < 0 else 1
        if not np.allclose(p, q[::turn], rtol=0, atol=_TOLERANCE):
            raise UserError(
                f"{one} and {other} have different shares; a correlation of attributes with more"
                " than two values needs equal ones"
            )
        strength = abs(coefficient)
        return strength * np.diag(p)[:, ::turn] + (1 - strength) * np.outer(p, q)


def _binary_table(pair: tuple[str, str], phi: float, p: Floats, q: Floats) -> Floats:
    """P(1, 1) = p q + phi sqrt(p (1 - p) q (1 - q)), which shares bound to a range of phi."""
    spread = math.sqrt(p[0] * p[1] * q[0] * q[1])
    both = p[1] * q[1] + phi * spread
    least, most = max(0.0, p[1] + q[1] - 1), min(p[1], q[1])
    if not least - _TOLERANCE <= both <= most + _TOLERANCE or (phi and not spread):
        low, high = ((x - p[1] * q[1]) / spread if spread else 0.0 for x in (least, most))
        raise UserError(
            f"with their shares, the correlation of {pair[0]} and {pair[1]} can be"
            f" {low:.3g} to {high:.3g}, not {phi:g}"
        )
    both = min(max(both, least), most)
    return np.array([[1 - p[1] - q[1] + both, q[1] - both], [p[1] - both, both]])
