"""Every trained method on images keeps the contract; the toy shows what a new one takes."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from contracts import toy_images
from contracts.image_method import ImageMethodContract
from withhold.methods.images import gap, replace

pytestmark = pytest.mark.slow


class TestToy(ImageMethodContract):
    method = "toy"
    module = toy_images.__name__


SMALL = {
    "side": 16, "width": 4, "depth": 2, "reader_width": 4, "noise": 8, "epochs": 4, "batch": 16
}  # fmt: skip


class TestGap(ImageMethodContract):
    method = "gap"
    module = gap.__name__
    config: ClassVar[dict[str, Any]] = SMALL


class TestReplace(ImageMethodContract):
    method = "replace"
    module = replace.__name__
    config: ClassVar[dict[str, Any]] = SMALL
