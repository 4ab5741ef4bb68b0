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
    if _is_images(x):
        raise UserError(
            f"{name} are a list of {len(x):,} images; make one array of them:"
            ' np.stack([np.asarray(i.convert("RGB")) for i in images]); if their sizes differ,'
            " save them to a folder and read that: Dataset.read(folder)"
        )
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
            array = np.ascontiguousarray(x, dtype=np.float32)
    except (TypeError, ValueError) as error:
        said = str(error).partition("\n")[0]
        raise UserError(f"{name} must be a matrix of numbers: {said}") from error
    if array.ndim != 2:
        raise UserError(
            f"{name} must be a matrix (records, features), not {array.ndim}-d{_matrix_hint(array)}"
        )
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
            f" shape {x.shape}; convert it: {_pixel_hint(x)}"
        )
    return x


def _is_images(x: Any) -> bool:
    """Whether this is a list of Pillow's images, without importing Pillow."""
    return (
        isinstance(x, list | tuple)
        and len(x) > 0
        and all(hasattr(i, "convert") and hasattr(i, "getbands") for i in x)
    )


def _matrix_hint(array: npt.NDArray[Any]) -> str:
    """How an array that is no matrix becomes records."""
    if array.ndim == 1:
        return "; one feature: x.reshape(-1, 1); one record: x.reshape(1, -1)"
    if array.ndim == 3:
        return (
            "; grey images: np.repeat(x[..., None], 3, axis=-1).astype(np.uint8) (values 0 to 255);"
            " other numbers: x.reshape(len(x), -1)"
        )
    return "; x.reshape(len(x), -1) makes one row of each record" if array.ndim > 3 else ""


def _pixel_hint(x: npt.NDArray[Any]) -> str:
    """Which steps make pixels of this array, as code."""
    steps = "x"
    channels = x.shape[-1]
    if channels not in (1, 3, 4) and x.shape[-3] in (1, 3):
        axes = (0, 2, 3, 1) if x.ndim == 4 else (0, 1, 3, 4, 2)
        steps, channels = f"{steps}.transpose{axes}", x.shape[-3]
    if channels == 1:
        steps = f"np.repeat({steps}, 3, axis=-1)"
    elif channels == 4:
        steps = f"{steps}[..., :3]"
    elif channels != 3:
        return "the last axis must have the three colours red, green and blue"
    if x.dtype == np.bool_:
        return f"(255 * {steps}).astype(np.uint8)"
    if x.dtype != np.uint8:
        unit = x.dtype.kind == "f" and x.size > 0 and float(np.nanmax(x)) <= 1
        scaled = f"(255 * {steps})" if unit else steps
        return f"{scaled}.round().clip(0, 255).astype(np.uint8)"
    return steps


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
