"""What every method leaves behind: a frozen, pure function over record batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from withhold.errors import UserError

FloatArray = npt.NDArray[np.float32]
State = dict[str, npt.NDArray[Any]]


class Modifier(ABC):
    """transform(x) -> x', same shape; knows nothing of training.

    It is pure: what becomes of a record depends on that record (and a key in the state), not on
    the batch it came in, so one process or many give the same release.
    """

    method: ClassVar[str]

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Features per record."""

    @abstractmethod
    def _transform(self, x: FloatArray) -> FloatArray:
        """Modified features of checked x: (n, d)."""

    @abstractmethod
    def state(self) -> State:
        """Arrays that `from_state` needs; numbers and short text go to `settings`."""

    def settings(self) -> dict[str, Any]:
        """JSON that `from_state` needs beside the arrays."""
        return {}

    @classmethod
    @abstractmethod
    def from_state(cls, state: State, settings: dict[str, Any]) -> Modifier:
        """The modifier that was saved."""

    def transform(self, x: FloatArray) -> FloatArray:
        """Modified features, (n, d) float32."""
        if x.ndim != 2 or x.shape[1] != self.dimension:
            found = x.shape[1] if x.ndim == 2 else f"{x.ndim}-d"
            raise UserError(
                f"the records have {found} features, the bundle was fitted on {self.dimension}"
            )
        if len(x) == 0:
            return np.empty((0, self.dimension), np.float32)
        return self._transform(np.ascontiguousarray(x, np.float32))
