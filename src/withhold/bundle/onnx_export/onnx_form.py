"""How each type of modifier becomes an ONNX graph: the registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from withhold.bundle.onnx_export.onnx_graph import Graph
from withhold.core.errors import UserError
from withhold.methods.modifier import Labels, Modifier

M = TypeVar("M", bound=Modifier)
C = TypeVar("C")
Nonces = npt.NDArray[np.uint64]
Inputs = dict[str, npt.NDArray[Any]]


class OnnxForm(ABC, Generic[M]):
    """The graph of one type of modifier, and the inputs that make the draws of `transform`."""

    modifier_type: ClassVar[type[Modifier]]
    draws: ClassVar[tuple[str, ...]] = ()  # the inputs that the key decides

    @abstractmethod
    def graph(self, modifier: M, graph: Graph) -> None:
        """Add the inputs, nodes and outputs."""

    @abstractmethod
    def inputs(
        self, modifier: M, records: Any, labels: Labels, nonces: Nonces | None = None
    ) -> Inputs:
        """The inputs of the graph for these records, with the draws of the bundle's key."""

    def notes(self, modifier: M) -> list[str]:
        """What a user must know about this model beside what holds for all."""
        return []

    def refusal(self, modifier: M) -> str | None:
        """Why this modifier cannot be exported, or None."""
        return None


_FORMS: dict[type[Modifier], OnnxForm[Any]] = {}


def onnx_form(cls: type[C]) -> type[C]:
    """Class decorator that registers a form for its type of modifier."""
    made: Any = cls()
    _FORMS[made.modifier_type] = made
    return cls


def form_of(modifier: Modifier) -> OnnxForm[Any]:
    """The form of a modifier; raises `UserError` if it cannot be exported."""
    found = next((_FORMS[t] for t in type(modifier).__mro__ if t in _FORMS), None)
    if found is None:
        raise UserError(
            f"method '{modifier.method}' cannot be exported to ONNX: it is a filter, neither a"
            " network nor a codebook; use withhold transform"
        )
    reason = found.refusal(modifier)
    if reason is not None:
        raise UserError(f"this bundle of '{modifier.method}' cannot be exported to ONNX: {reason}")
    return found
