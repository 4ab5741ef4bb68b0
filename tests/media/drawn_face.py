"""A drawn face that detectors take for one, so that no person's picture is needed."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from withhold.records.samples import ByteArray


def drawn_face(seed: int = 0, side: int = 240) -> ByteArray:
    """A face (side, side, 3) about the middle; the seed moves its features a little."""
    rng = np.random.default_rng(seed)
    image = Image.new("RGB", (side, side), (90, 110, 130))
    draw = ImageDraw.Draw(image)

    def disc(x: float, y: float, w: float, h: float, colour: tuple[int, int, int]) -> None:
        draw.ellipse([side * (x - w), side * (y - h), side * (x + w), side * (y + h)], fill=colour)

    def line(x0: float, y0: float, x1: float, y1: float, width: int, colour: str) -> None:
        draw.line([x0 * side, y0 * side, x1 * side, y1 * side], fill=colour, width=max(width, 1))

    def about(value: float) -> float:
        return value + float(rng.normal(0, 0.006))

    disc(0.5, 0.44, 0.31, 0.38, (50, 35, 30))  # hair
    disc(0.5, 0.52, 0.25, 0.34, (205, 160, 135))
    for x in (0.39, 0.61):
        disc(x, about(0.47), 0.065, 0.035, (170, 125, 105))
        line(x - 0.07, about(0.405), x + 0.06, about(0.395), side // 40, "#3c2823")  # brow
        disc(x, 0.47, 0.045, 0.02, (235, 230, 225))
        disc(x, 0.47, 0.02, 0.02, (45, 30, 25))
    nose = [0.5, 0.45, 0.455, 0.61, 0.545, 0.61]
    draw.polygon([v * side for v in nose], fill=(190, 145, 120))
    for x in (0.47, 0.53):
        disc(x, 0.615, 0.017, 0.01, (165, 115, 95))
    disc(0.5, about(0.71), 0.09, 0.028, (165, 85, 80))  # mouth
    line(0.41, 0.71, 0.59, 0.71, side // 80, "#642d2d")
    return np.array(image.filter(ImageFilter.GaussianBlur(side / 110)))
