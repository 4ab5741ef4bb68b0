"""Convert arrays, frames of numbers and tensors to one float32 matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError


def is_tensor(x: Any) -> bool:
    """Whether this is a torch tensor, without importing torch."""
    return type(x).__module__.partition(".")[0] == "torch" and hasattr(x, "detach")


def to_matrix(x: Any, name: str = "features") -> npt.NDArray[np.float32]:
    """x as an (n, d) float32 matrix, C-contiguous and finite; errors name the input as `name`."""
    if is_tensor(x):
        x = x.detach().cpu().float().numpy()
    try:
        with np.errstate(over="ignore"):  # too large values become infinite and are refused below
            array = np.ascontiguousarray(x, dtype=np.float32)
    except (TypeError, ValueError) as error:
        said = str(error).partition("\n")[0]
        raise UserError(f"{name} must be a matrix of numbers: {said}") from error
    if array.ndim != 2:
        raise UserError(f"{name} must be a matrix (records, features), not {array.ndim}-d")
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array).all(axis=1)))
        raise UserError(f"{name} of record {row} (the first is 0) are NaN or infinite")
    return array
