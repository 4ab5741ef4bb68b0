"""The interface of an attacker, and the ladder that they register on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.records.attribute import Attribute

FloatArray = npt.NDArray[np.float32]
State = Mapping[str, npt.NDArray[Any]]
# What an attacker is shown: features standardised, or (where there are many) their first principal
# directions, or the released numbers as they are. Each is computed once and shared.
ViewName = Literal["standard", "reduced", "raw"]


class Prediction(Protocol):
    """Anything that scores classes: a fitted attacker, or a frozen model of a method."""

    def logits(self, x: FloatArray) -> FloatArray:
        """Scores of each class, (n, k), for features (n, d): log-probabilities up to a constant;
        of a multi-label attribute the log odds of each label."""


class FittedAttacker(ABC):
    """What an attacker learned."""

    @abstractmethod
    def logits(self, x: FloatArray) -> FloatArray:
        """As of a `Prediction`."""

    def state(self) -> State | None:
        """What another fit can start from; None where none can."""
        return None


class Attacker(ABC):
    """Learns an attribute on train, is chosen on val; never sees test."""

    name: ClassVar[str]
    view: ClassVar[ViewName]
    raw: ClassVar[bool] = False  # whether it also serves as a model of the originals
    starts_warm: ClassVar[bool] = False  # whether it can start from the state of a fitted one

    @abstractmethod
    def fit(
        self,
        x: FloatArray,
        attribute: Attribute,
        x_val: FloatArray,
        attribute_val: Attribute,
        *,
        seed: int,
    ) -> FittedAttacker:
        """Fit on (x, attribute), choose settings on val; missing labels are masked."""

    @abstractmethod
    def cost(self, n: int, d: int, classes: int) -> float:
        """About how many seconds a fit takes on one core: for the order and the time left."""

    def declines(self, n: int, d: int, classes: int) -> str | None:
        """Why it does not take on n records of d features and so many classes; None if it does."""
        del n, d, classes
        return None

    def warm(self, state: State) -> Attacker:
        """The same attacker, starting from the state of a fitted one where it `starts_warm`."""
        del state
        return self


A = TypeVar("A")

_ATTACKERS: dict[str, Any] = {}


def attacker(cls: type[A]) -> type[A]:
    """Class decorator that puts an attacker on the ladder."""
    instance: Any = cls()
    _ATTACKERS[instance.name] = instance
    return cls


def attacker_names() -> tuple[str, ...]:
    """Every attacker, weakest first."""
    return tuple(_ATTACKERS)


def get_attackers(names: Iterable[str]) -> tuple[Attacker, ...]:
    """Attackers by name."""
    found = []
    for name in names:
        if name not in _ATTACKERS:
            raise UserError(
                f"there is no attacker '{name}'{did_you_mean(name, _ATTACKERS)}"
                f" (attackers: {listing(_ATTACKERS, most=20)})"
            )
        found.append(_ATTACKERS[name])
    return tuple(found)


def per_label(attribute: Attribute) -> list[Attribute]:
    """A multi-label attribute as one binary attribute a label; a categorical one as itself."""
    if not attribute.multilabel:
        return [attribute]
    return [
        Attribute(label, "categorical", ("0", "1"), attribute.codes[:, k])
        for k, label in enumerate(attribute.classes)
    ]


def log_shares(attribute: Attribute) -> FloatArray:
    """log of the smoothed share of each class, (k,); of each label, its log odds."""
    counts = attribute.counts.astype(np.float64)
    if attribute.multilabel:
        known = (attribute.codes >= 0).sum(axis=0)
        odds: FloatArray = np.log((counts + 0.5) / (known - counts + 0.5)).astype(np.float32)
        return odds
    shares: FloatArray = np.log((counts + 0.5) / (counts + 0.5).sum()).astype(np.float32)
    return shares
