"""The new class s' of an image: drawn independently of the image's own, or chosen by the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.methods.checked_state import StateSettings
from withhold.methods.images.replace.config import Shares
from withhold.records.attribute import Attribute


class NewClasses(StateSettings):
    """Classes by number, each a tuple with a value for every suppressed attribute, and P(s')."""

    names: tuple[str, ...] = Field(min_length=1)
    values: tuple[tuple[str, ...], ...] = Field(min_length=2, max_length=4096)
    shares: tuple[float, ...]

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if len(self.shares) != len(self.values):
            raise ValueError("every class needs a share")
        if any(len(value) != len(self.names) for value in self.values):
            raise ValueError("every class needs a value for each attribute")
        if min(self.shares) < 0 or abs(sum(self.shares) - 1) > 1e-6:
            raise ValueError("the shares are no distribution")
        return self

    @classmethod
    def of(cls, attributes: Sequence[Attribute], joined: Attribute, shares: Shares) -> Self:
        """The classes of `joined`, which combines the attributes, with the shares that are set."""
        places = [int(np.flatnonzero(joined.codes == k)[0]) for k in range(len(joined.classes))]
        values = tuple(tuple(a.classes[a.codes[place]] for a in attributes) for place in places)
        known = cls(
            names=tuple(a.name for a in attributes),
            values=values,
            shares=(1 / len(values),) * len(values),
        )
        if shares == "uniform":
            return known
        if shares == "data":
            return known._with((joined.counts / joined.counts.sum()).tolist())
        return known._with(known._named(shares))

    def directed(self, to: Mapping[str, str]) -> Self:
        """The same classes, drawn only among those that have the values in `to`."""
        for name, value in to.items():
            if name not in self.names:
                raise UserError(
                    f"--to {name}={value}: the bundle replaces {listing(self.names)}, not '{name}'"
                )
            have = sorted({v[self.names.index(name)] for v in self.values})
            if value not in have:
                raise UserError(
                    f"--to {name}={value}: '{name}' has no class '{value}'"
                    f"{did_you_mean(value, have)} (classes: {listing(have)})"
                )
        wanted = [
            all(v[self.names.index(n)] == value for n, value in to.items()) for v in self.values
        ]
        if not any(wanted):
            raise UserError("no record of the fit had all the classes of --to together")
        # A class that is never drawn may be chosen all the same.
        base = np.array(self.shares) if np.dot(wanted, self.shares) > 0 else np.ones(len(wanted))
        left = np.where(wanted, base, 0)
        return self._with((left / left.sum()).tolist())

    def draw(self, uniform: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Class numbers by their shares, from numbers in (0, 1): (n,) -> (n,)."""
        return np.searchsorted(np.cumsum(self.shares)[:-1], uniform, side="right").astype(np.int64)

    def _with(self, shares: Sequence[float]) -> Self:
        return self.model_copy(update={"shares": tuple(float(s) for s in shares)})

    def _named(self, shares: Mapping[str, float]) -> list[float]:
        if len(self.names) > 1:
            raise UserError(
                "'synthetic' with a share for each class takes one suppressed attribute; these are"
                f" {listing(self.names)}; use uniform or data"
            )
        have = [value for (value,) in self.values]
        unknown = [c for c in shares if c not in have]
        if unknown:
            raise UserError(
                f"'synthetic' names the class '{unknown[0]}', which '{self.names[0]}' does not"
                f" have{did_you_mean(unknown[0], have)} (classes: {listing(have)})"
            )
        return [shares.get(value, 0.0) for value in have]
