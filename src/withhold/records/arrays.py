"""Arrays and tensors as records, a float32 matrix or pixels, and releases as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError


def is_tensor(x: Any) -> bool:
    """Whether this is a torch tensor, without importing torch for those who have none."""
    return type(x).__module__.partition(".")[0] == "torch" and hasattr(x, "detach")


def to_matrix(x: Any, name: str = "features") -> npt.NDArray[np.float32]:
    """x: (n, d) float32, C-contiguous and finite; refuses anything else by name."""
    if is_tensor(x):
        x = x.detach().cpu().float().numpy()
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
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


def as_pixels(x: Any) -> npt.NDArray[np.uint8] | None:
    """Images (n, h, w, 3) or clips (n, t, h, w, 3) of bytes; None for anything else."""
    if is_tensor(x) and x.ndim in (4, 5):
        x = x.detach().cpu().numpy()
    if not isinstance(x, np.ndarray) or x.ndim not in (4, 5):
        return None
    if x.dtype != np.uint8 or x.shape[-1] != 3:
        raise UserError(
            f"an array of images is uint8 of shape (records, height, width, 3), not {x.dtype} of"
            f" shape {x.shape}"
        )
    return x


def from_tensor(x: Any) -> npt.NDArray[Any]:
    """A tensor as an array; types that numpy does not have (bfloat16) become float32."""
    x = x.detach().cpu()
    array: npt.NDArray[Any] = (x if x.element_size() == 8 else x.float()).numpy()
    return array


def like(x: Any, released: npt.NDArray[Any]) -> Any:
    """The release as a tensor on the device of x, with the dtype of x if that is floating."""
    import torch

    made = torch.from_numpy(released).to(x.device)
    return made.to(x.dtype) if x.is_floating_point() else made


def like_pixels(x: Any, released: npt.NDArray[np.uint8]) -> Any:
    """Pixels as a tensor on the device of x, if x is a tensor."""
    import torch

    return torch.from_numpy(released).to(x.device) if is_tensor(x) else released
