"""Tensors in, and releases as tensors out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.records.arrays import is_tensor


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
