"""The interface of attackers, and the ladder on which they register."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.records.attribute import Attribute

FloatArray = npt.NDArray[np.float32]
PixelArray = npt.NDArray[np.uint8]  # images, (n, channels, side, side)
State = Mapping[str, npt.NDArray[Any]]
# What an attacker sees: standardised features ("standard"), their first principal directions if
# there are many ("reduced"), the released numbers ("raw"), the images that the features were made
# of ("pixels"), or what shows only at their full size ("detail"); of clips, single frames
# ("frames"), frames in their order ("windows"), or detail ("frame-detail"). Attackers share these.
ViewName = Literal[
    "standard", "reduced", "raw", "pixels", "detail", "frames", "windows", "frame-detail"
]
PixelKind = Literal["image", "clip"]
OF_IMAGES: tuple[ViewName, ...] = ("pixels", "detail")
OF_CLIPS: tuple[ViewName, ...] = ("frames", "windows", "frame-detail")
OF_PIXELS: dict[ViewName, PixelKind] = {
    **dict.fromkeys(OF_IMAGES, "image"),
    **dict.fromkeys(OF_CLIPS, "clip"),
}


class Prediction(Protocol):
    """Anything that scores classes: a fitted attacker, or a frozen model of a method."""

    def logits(self, x: FloatArray) -> FloatArray:
        """Scores of each class, (n, k), for features (n, d): log-probabilities up to a constant,
        or the log odds of each label if the attribute is multi-label."""


class FittedAttacker(ABC):
    """What an attacker learned."""

    @abstractmethod
    def logits(self, x: FloatArray) -> FloatArray:
        """See `Prediction.logits`."""

    def state(self) -> State | None:
        """The state that another fit can start from; None if it cannot."""
        return None


class Attacker(ABC):
    """A model that learns an attribute on train and is chosen on val; it never sees test."""

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
        """Fit on (x, attribute) and choose settings on val; missing labels are masked."""

    @abstractmethod
    def cost(self, n: int, d: int, classes: int) -> float:
        """Estimated seconds of a fit on one core, used for the order and for the time left."""

    def declines(self, n: int, d: int, classes: int) -> str | None:
        """Why it cannot attack n records of d features with so many classes; None if it can."""
        del n, d, classes
        return None

    def warm(self, state: State) -> Attacker:
        """The same attacker, started from a fitted state if it `starts_warm`."""
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
    """A multi-label attribute as one binary attribute per label; a categorical one unchanged."""
    if not attribute.multilabel:
        return [attribute]
    return [
        Attribute(label, "categorical", ("0", "1"), attribute.codes[:, k])
        for k, label in enumerate(attribute.classes)
    ]


def log_shares(attribute: Attribute) -> FloatArray:
    """log of the smoothed share of each class, (k,); for multi-label, log odds of each label."""
    counts = attribute.counts.astype(np.float64)
    if attribute.multilabel:
        known = (attribute.codes >= 0).sum(axis=0)
        odds: FloatArray = np.log((counts + 0.5) / (known - counts + 0.5)).astype(np.float32)
        return odds
    shares: FloatArray = np.log((counts + 0.5) / (counts + 0.5).sum()).astype(np.float32)
    return shares
