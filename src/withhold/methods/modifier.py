"""The result of every method: a frozen, pure function of batches of records."""

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
Labels = Mapping[str, Attribute]  # of the records of one batch, by the name of the attribute


class Modifier(ABC):
    """transform(records) -> records of the same kind and shape. It does no training.

    It is pure: the result for a record depends on that record and the key, not on its batch. So one
    process or many give the same release.
    """

    method: ClassVar[str]
    kinds: ClassVar[tuple[RecordKind, ...]]  # of the records that it changes
    learned: ClassVar[bool] = True  # whether a fit reads the records and their labels
    of_given_records: ClassVar[bool] = False  # whether it is for the records of the fit alone
    key: bytes  # the secret of the bundle: it determines draws and signs certificates

    @property
    def needs(self) -> tuple[str, ...]:
        """Attributes whose labels `transform` needs."""
        return ()

    @abstractmethod
    def transform(self, records: Any, labels: Labels | None = None) -> Any:
        """Modified records: features (n, d) to the same, or samples to as many samples."""

    def directed(self, to: Mapping[str, str]) -> Modifier:
        """The same modifier with the new class of an attribute chosen: {attribute: class}."""
        raise UserError(
            f"method '{self.method}' puts no new class in place of a suppressed one, so --to"
            f" {'='.join(next(iter(to.items())))} means nothing to it; 'replace' does"
        )

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
        """The modifier that was saved; raises `UserError` if state or settings are invalid."""


class FeatureModifier(Modifier):
    """transform(x) -> x', (n, d) float32 both.

    A modifier may need the labels of a suppressed attribute: `needs` names such attributes.
    """

    kinds: ClassVar[tuple[RecordKind, ...]] = ("features",)
    # What to do where the data lack a column that the modifier needs.
    way_out: ClassVar[str] = "add it, or fit without it (use_labels: false, draw_by: record)"

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
        """Features and labels, checked for `_transform`."""
        if x.ndim != 2 or x.shape[1] != self.dimension:
            found = x.shape[1] if x.ndim == 2 else f"{x.ndim}-d"
            raise UserError(
                f"the records have {found} features, the bundle was fitted on {self.dimension}"
            )
        absent = [name for name in self.needs if name not in (labels or {})]
        if absent:
            raise UserError(
                f"this bundle needs the column {listing(absent)} for every record, but the"
                f" data does not have it; {self.way_out}"
            )
        return np.ascontiguousarray(x, np.float32), {n: (labels or {})[n] for n in self.needs}
