"""Build an ONNX graph node by node.

The graphs are written with the `onnx` package alone. torch's own exporter needs a further package,
and its older one traces a batch of one size; both may also write other bytes in the next version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from withhold.core.errors import UserError

OPSET, IR_VERSION = 18, 9  # read by onnxruntime 1.15 and later
MOST_BYTES = 2**31 - 2**20  # of a protobuf message
ROWS = "n"  # the name of the axis of records, whose length is free


def require_onnx() -> Any:
    """The package `onnx`; raises `UserError` if it is not installed."""
    try:
        return import_module("onnx")
    except ImportError as error:
        raise UserError(
            "the export needs the package onnx: pip install 'withhold[onnx]'"
        ) from error


class Graph:
    """Nodes, constants, inputs and outputs. Values are named by strings."""

    def __init__(self) -> None:
        self._onnx = require_onnx()
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._bytes = 0

    def input(self, name: str, kind: npt.DTypeLike, *shape: int) -> str:
        """An input (n, *shape)."""
        self._inputs.append(self._value(name, kind, shape))
        return name

    def output(self, name: str, value: str, kind: npt.DTypeLike, *shape: int) -> None:
        """An output (n, *shape) with the values of `value`."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._value(name, kind, shape))

    def constant(self, value: Tensor | npt.NDArray[Any] | Sequence[Any] | float) -> str:
        """A constant; Python numbers become float32."""
        if isinstance(value, Tensor):
            value = value.detach().contiguous().numpy()
        array = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
        if array.dtype == np.float64 and not isinstance(value, np.ndarray | np.generic):
            array = array.astype(np.float32)
        self._bytes += array.nbytes
        if self._bytes > MOST_BYTES:
            raise UserError(
                f"the model has {self._bytes / 2**30:.1f} GiB of weights or codes, and an ONNX file"
                " holds at most 2 GiB; fit with fewer codes or a smaller network"
            )
        name = f"c{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, *inputs: str, attributes: Mapping[str, Any] | None = None) -> str:
        """The output of one operator."""
        name = f"v{len(self._nodes)}"
        made = self._onnx.helper.make_node(operator, inputs, [name], **(attributes or {}))
        self._nodes.append(made)
        return name

    def whole(self, *numbers: int) -> str:
        """A constant list of whole numbers: axes, shapes."""
        return self.constant(np.array(numbers, np.int64))

    def cast(self, value: str, kind: npt.DTypeLike) -> str:
        """The values in another type."""
        return self.node("Cast", value, attributes={"to": self._type(kind)})

    def row_sum(self, value: str, *, keep: bool = False) -> str:
        """The sum of each row: (n, k) to (n,), or (n, 1) with `keep`."""
        return self.node("ReduceSum", value, self.whole(1), attributes={"keepdims": int(keep)})

    def model(self, facts: Mapping[str, str]) -> bytes:
        """The model as bytes; the same graph gives the same bytes. `facts` are shown to users."""
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes, "withhold", self._inputs, self._outputs, self._constants
        )
        model = helper.make_model(
            graph,
            producer_name="withhold",
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
        helper.set_model_props(model, dict(facts))
        self._onnx.checker.check_model(model)
        data: bytes = model.SerializeToString(deterministic=True)
        return data

    def _value(self, name: str, kind: npt.DTypeLike, shape: Sequence[int]) -> Any:
        return self._onnx.helper.make_tensor_value_info(name, self._type(kind), [ROWS, *shape])

    def _type(self, kind: npt.DTypeLike) -> int:
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)))


def single(value: float | Tensor | npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Numbers as float32, in which torch computes."""
    return torch.as_tensor(value).float().numpy()
