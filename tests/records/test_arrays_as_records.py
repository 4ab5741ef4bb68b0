"""Arrays that are no records are refused with the code that makes records of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from withhold.core.errors import UserError
from withhold.records.dataset import Dataset

RNG = np.random.default_rng(0)
UNIT = RNG.random((4, 8, 8, 3))
BYTES = RNG.integers(0, 256, (4, 8, 8, 3)).astype(np.uint8)
WRONG: dict[str, npt.NDArray[Any]] = {
    "floats to 1": UNIT,
    "floats to 255": 255 * UNIT,
    "whole numbers": BYTES.astype(np.int64),
    "one channel": BYTES[..., :1],
    "one channel of floats": UNIT[..., :1].astype(np.float32),
    "channels first": BYTES.transpose(0, 3, 1, 2),
    "channels first of floats": UNIT.transpose(0, 3, 1, 2),
    "with transparency": np.concatenate([BYTES, BYTES[..., :1]], axis=-1),
    "black and white": BYTES[..., :1] > 100,
    "clips of floats": RNG.random((2, 3, 8, 8, 3)),
    "clips, channels first": RNG.integers(0, 256, (2, 3, 3, 8, 8)).astype(np.uint8),
}


@pytest.mark.parametrize("kind", WRONG)
def test_the_hint_makes_images(kind: str) -> None:
    """The code in the message is run, and its result is taken."""
    x = WRONG[kind]
    with pytest.raises(UserError, match="convert it: ") as said:
        Dataset.from_arrays(x)
    made = eval(str(said.value).partition("convert it: ")[2], {"np": np, "x": x})
    data = Dataset.from_arrays(made)
    assert data.kind == ("clip" if x.ndim == 5 else "image")
    assert len(data) == len(x)
    if x.dtype.kind == "f":  # brightness survives
        scale = 255 if x.max() <= 1 else 1
        assert abs(made.mean() - scale * x.mean()) < 2


def test_grey_images_are_told_how() -> None:
    x = BYTES[..., 0]
    with pytest.raises(UserError, match="grey images: ") as said:
        Dataset.from_arrays(x)
    code = re.search(r"grey images: (.*?) \(values", str(said.value))
    assert code is not None
    assert Dataset.from_arrays(eval(code[1], {"np": np, "x": x})).kind == "image"


def test_a_list_of_pillow_images_is_told_how() -> None:
    images = [Image.fromarray(pixels) for pixels in BYTES]
    with pytest.raises(UserError, match="list of 4 images") as said:
        Dataset.from_arrays(images)
    code = re.search(r"of them: (.*?);", str(said.value))
    assert code is not None
    made = eval(code[1], {"np": np, "images": images})
    np.testing.assert_array_equal(made, BYTES)
    assert Dataset.from_arrays(made).kind == "image"


def test_other_shapes_are_told_how() -> None:
    with pytest.raises(UserError, match=re.escape("x.reshape(-1, 1)")):
        Dataset.from_arrays(np.zeros(3))
    with pytest.raises(UserError, match="three colours"):
        Dataset.from_arrays(np.zeros((2, 8, 8, 7), np.uint8))
