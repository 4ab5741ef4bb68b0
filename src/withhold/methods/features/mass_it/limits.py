"""How much of each attribute may leak or must be kept, checked before anything is trained.

For a release X' of data with suppressed S and useful U: I(X';U) <= I(X';S) + H(U|S). The limits
I(X';S) <= m and I(X';U) >= n can therefore only be met if m >= 0, n <= H(U) and
n <= m + H(U|S) for every pair. All figures here are in bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from withhold.core.errors import UserError
from withhold.methods.features.mass.config import weight_of
from withhold.methods.features.mass_it.config import Bits, MassItConfig
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.feasibility import conditional_entropy, entropy
from withhold.records.roles import Roles

_ROUNDING = 1e-6  # bits: a limit computed from the entropies themselves must pass


@dataclass(frozen=True)
class MassItLimits:
    """Bits by attribute: the entropy H of each, m of suppressed and n of preserved ones."""

    entropy: dict[str, float]
    most_leaked: dict[str, float]
    least_kept: dict[str, float]

    def told(self) -> str:
        """The limits in words."""
        leaked = [
            f"at most {m:.3f} of {self.entropy[name]:.3f} bits of '{name}'"
            for name, m in self.most_leaked.items()
        ]
        kept = [
            f"at least {n:.3f} of {self.entropy[name]:.3f} bits of '{name}'"
            for name, n in self.least_kept.items()
        ]
        return "the release should reveal " + ", ".join(leaked + kept)


def limits_of(train: Dataset, roles: Roles, config: MassItConfig) -> MassItLimits:
    """m and n of each attribute; raises `UserError` for limits that no release can meet."""
    attributes = {name: train.attribute(name) for name in roles.named}
    bits = {name: mean_entropy(attribute) for name, attribute in attributes.items()}
    given = _by_name(config.most_leaked, roles.suppress, setting="most_leaked")
    most = {name: given.get(name, 0.0) for name in roles.suppress}
    for name, m in most.items():
        if m < 0:
            raise UserError(
                f"setting 'most_leaked' of attribute '{name}' is {m:.3f} bits; it must be 0 or more"
            )
    wanted = {}
    if config.least_kept is not None:
        wanted = _by_name(config.least_kept, roles.preserve, setting="least_kept")
    least = {}
    for name in roles.preserve:
        beyond = {s: mean_conditional(attributes[name], attributes[s]) for s in roles.suppress}
        feasible = min([bits[name], *(most[s] + beyond[s] for s in roles.suppress)])
        n = wanted.get(name)
        if n is not None:
            _check(name, n, bits[name], most, beyond)
        least[name] = config.kept_share * feasible if n is None else n
    return MassItLimits(bits, most, least)


def _check(
    name: str, n: float, bits: float, most: dict[str, float], beyond: dict[str, float]
) -> None:
    """Refuse n < 0, n > H(U) and n > m + H(U|S); `beyond` is H(U|S) for each suppressed S."""
    if n < 0:
        raise UserError(
            f"setting 'least_kept' of attribute '{name}' is {n:.3f} bits; it must be 0 or more"
        )
    if n > bits + _ROUNDING:
        raise UserError(
            f"setting 'least_kept' of attribute '{name}' is {n:.3f} bits, but '{name}' has only"
            f" {bits:.3f} bits: set it to {_below(bits)} or less"
        )
    hardest = min(beyond, key=lambda s: most[s] + beyond[s])
    feasible = most[hardest] + beyond[hardest]
    if n > feasible + _ROUNDING:
        raise UserError(
            f"setting 'least_kept' of attribute '{name}' is {n:.3f} bits, but if at most"
            f" {most[hardest]:.3f} bits of '{hardest}' leak, no release can reveal more than"
            f" {feasible:.3f} bits of '{name}' (H({name}|{hardest}) is {beyond[hardest]:.3f}):"
            f" set it to {_below(feasible)} or less, or 'most_leaked' of '{hardest}' to"
            f" {_above(n - beyond[hardest])} or more"
        )


def mean_entropy(attribute: Attribute) -> float:
    """H(A) in bits; for a multi-label attribute the mean over its labels, like its cross-entropy.

    A label's weight is the number of records for which it is known.
    """
    labels, weights = _labels(attribute)
    return float(np.average([entropy(label) for label in labels], weights=weights))


def mean_conditional(attribute: Attribute, given: Attribute) -> float:
    """H(A | given) in bits; for multi-label attributes the mean over all pairs of labels.

    I(X';U) <= I(X';S) + H(U|S) holds for every pair of labels, and so for the mean.
    """
    labels, weights = _labels(attribute)
    others, other_weights = _labels(given)
    table = [[conditional_entropy(label, other) for other in others] for label in labels]
    return float(weights @ np.asarray(table) @ other_weights / weights.sum() / other_weights.sum())


def _labels(
    attribute: Attribute,
) -> tuple[list[Attribute], np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """A multi-label attribute as binary ones, and the number of known labels of each."""
    if not attribute.multilabel:
        return [attribute], np.ones(1)
    labels = [
        Attribute(name, "categorical", ("0", "1"), codes)
        for name, codes in zip(attribute.classes, attribute.codes.T, strict=True)
    ]
    return labels, (attribute.codes >= 0).sum(axis=0).astype(np.float64)


def _by_name(bits: Bits, names: tuple[str, ...], *, setting: str) -> dict[str, float]:
    """The limits that the user set; a mapping may leave attributes out."""
    every = weight_of(bits, names, setting=setting)
    return {name: b for name, b in every.items() if not isinstance(bits, dict) or name in bits}


def _below(bits: float) -> str:
    """Rounded down, so that a user who follows the advice is not refused again."""
    return f"{np.floor(1000 * bits + 1e-6) / 1000:.3f}"


def _above(bits: float) -> str:
    return f"{np.ceil(1000 * bits - 1e-6) / 1000:.3f}"
