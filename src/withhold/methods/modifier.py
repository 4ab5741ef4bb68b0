"""What every method leaves behind: a frozen, pure function over batches of records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError, listing
from withhold.records.attribute import Attribute
from withhold.records.samples import RecordKind

FloatArray = npt.NDArray[np.float32]
State = dict[str, npt.NDArray[Any]]
Labels = Mapping[str, Attribute]  # of the records of one batch, by the attribute's name


class Modifier(ABC):
    """transform(records) -> records of the same kind and shape; knows nothing of training.

    It is pure: what becomes of a record depends on that record and the key, not on the batch it
    came in, so one process or many give the same release.
    """

    method: ClassVar[str]
    kinds: ClassVar[tuple[RecordKind, ...]]  # of the records that it changes
    learned: ClassVar[bool] = True  # whether a fit reads the records and their labels
    key: bytes  # the bundle's secret: draws come from it, and certificates are signed with it

    @property
    def needs(self) -> tuple[str, ...]:
        """Attributes whose labels `transform` must be given."""
        return ()

    @abstractmethod
    def transform(self, records: Any, labels: Labels | None = None) -> Any:
        """Modified records: features (n, d) to the same, or samples to as many samples."""

    @abstractmethod
    def state(self) -> State:
        """Arrays that `from_state` needs, without the key; numbers and short text go to
        `settings`."""

    def settings(self) -> dict[str, Any]:
        """JSON that `from_state` needs beside the arrays."""
        return {}

    @classmethod
    @abstractmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> Modifier:
        """The modifier that was saved; raises `UserError` where state or settings do not fit."""


class FeatureModifier(Modifier):
    """transform(x) -> x', (n, d) float32 both.

    A modifier may need the record's own label of a suppressed attribute: `needs` names such
    attributes.
    """

    kinds = ("features",)

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Features per record."""

    @abstractmethod
    def _transform(self, x: FloatArray, labels: Labels) -> FloatArray:
        """Modified features of checked x: (n, d)."""

    def transform(self, records: FloatArray, labels: Labels | None = None) -> FloatArray:
        """Modified features, (n, d) float32."""
        x, labels = self._checked(records, labels)
        if len(x) == 0:
            return np.empty((0, self.dimension), np.float32)
        return self._transform(x, labels)

    def _checked(self, x: FloatArray, labels: Labels | None) -> tuple[FloatArray, Labels]:
        """Features and labels as `_transform` may rely on them."""
        if x.ndim != 2 or x.shape[1] != self.dimension:
            found = x.shape[1] if x.ndim == 2 else f"{x.ndim}-d"
            raise UserError(
                f"the records have {found} features, the bundle was fitted on {self.dimension}"
            )
        absent = [name for name in self.needs if name not in (labels or {})]
        if absent:
            raise UserError(
                f"this bundle needs the column {listing(absent)} of every record it transforms,"
                " and the data has none; add it, or fit without it (use_labels: false, draw_by:"
                " record)"
            )
        return np.ascontiguousarray(x, np.float32), {n: (labels or {})[n] for n in self.needs}
