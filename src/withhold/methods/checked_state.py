"""Arrays and settings of a saved modifier, checked before they are used.

A bundle may have been edited, so every array is checked: its name, its type, that shapes agree, and
that numbers are finite. The error names the first array that is wrong.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, ValidationError

from withhold.core.errors import UserError
from withhold.methods.modifier import FloatArray, State

MOST_FEATURES = 2**24
_AGAIN = "restore the bundle, or fit again"


class StateSettings(BaseModel):
    """Settings that are saved with the arrays; subclasses define their ranges."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


S = TypeVar("S", bound=StateSettings)


def checked_modifier(settings: dict[str, Any], into: type[S]) -> S:
    """The settings of a saved modifier, with their ranges checked."""
    try:
        return into.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"])[:100]
        raise UserError(
            f"'{where}' of the saved modifier is not what a fit writes"
            f" ({first['msg'].splitlines()[0].lower()[:200]}); {_AGAIN}"
        ) from error


class Arrays:
    """The arrays of a saved modifier. Sizes have names, and the same name is the same size:

    >>> arrays = Arrays({"codes": np.zeros((3, 2), np.float32), "weights": np.ones(3, np.float32)})
    >>> arrays.take("codes", "N", "d").shape, arrays.take("weights", "N").shape
    ((3, 2), (3,))
    >>> arrays.close()
    """

    def __init__(self, state: State) -> None:
        self._left = dict(state)
        self._sizes: dict[str, int] = {}

    def has(self, name: str) -> bool:
        """Whether an array of this name is left to take."""
        return name in self._left

    def take(self, name: str, *shape: str | int, least: float | None = None) -> FloatArray:
        """A float32 array of this shape, finite, and at least `least` everywhere."""
        array = self.take_any(name, *shape)
        if array.dtype != np.float32:
            raise UserError(f"array '{name}' of the modifier is {array.dtype}; {_AGAIN}")
        if not np.isfinite(array).all():
            raise UserError(f"array '{name}' of the modifier holds NaN or infinity; {_AGAIN}")
        if least is not None and (array < least).any():
            raise UserError(f"array '{name}' of the modifier goes below {least:g}; {_AGAIN}")
        # A copy: arrays from safetensors are read-only, and torch warns about that.
        return np.array(array)

    def take_any(self, name: str, *shape: str | int) -> npt.NDArray[Any]:
        """An array of this shape, of any type."""
        if name not in self._left:
            raise UserError(f"the modifier has no array '{name}'; {_AGAIN}")
        array = self._left.pop(name)
        wanted = [self._sizes.get(s, s) if isinstance(s, str) else s for s in shape]
        fits = array.ndim == len(wanted) and all(
            isinstance(w, str) or w == n for w, n in zip(wanted, array.shape, strict=True)
        )
        if not fits or 0 in array.shape:
            said = " x ".join(map(str, wanted))
            found = " x ".join(map(str, array.shape))
            raise UserError(f"array '{name}' of the modifier is {found}, not {said}; {_AGAIN}")
        for size, n in zip(wanted, array.shape, strict=True):
            if isinstance(size, str):
                self._sizes[size] = n
        return array

    def expect(self, name: str, size: int) -> None:
        """Fix a size in advance."""
        self._sizes[name] = size

    def size(self, name: str) -> int:
        """A size that is known from an array."""
        return self._sizes[name]

    def close(self) -> None:
        """Refuse arrays that nothing asked for."""
        if self._left:
            unknown = min(self._left)[:100]
            raise UserError(f"the modifier has an unknown array '{unknown}'; {_AGAIN}")
