"""Every trained method on images keeps the contract; the toy shows what a new one takes."""

from __future__ import annotations

from contracts import toy_images
from contracts.image_method import ImageMethodContract


class TestToy(ImageMethodContract):
    method = "toy"
    module = toy_images.__name__
