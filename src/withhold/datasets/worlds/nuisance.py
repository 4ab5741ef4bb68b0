"""What differs from picture to picture of a drawn world and is no attribute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from withhold.datasets.worlds.canvas import Canvas, Floats


class Spread:
    """Random numbers around a middle. `amount` scales all of them; 0 gives the middle itself."""

    def __init__(self, amount: float, rng: np.random.Generator) -> None:
        self.amount, self.rng = amount, rng

    def around(self, middle: float, spread: float, *shape: int) -> Floats:
        """Uniform in middle +- amount * spread."""
        values = middle + self.amount * spread * self.rng.uniform(-1, 1, shape)
        return values.astype(np.float32)


@dataclass(frozen=True)
class Place:
    """Where a drawing lies in the picture, and the light on it; one value or column for each."""

    shift: Floats  # (2, b)
    scale: Floats  # (b,)
    tilt: Floats  # (2, b), how much brighter the right, and the bottom, is
    light: Floats  # (b,), factor on all pixels

    @classmethod
    def draw(cls, n: int, spread: Spread, shift: float = 0.07, scale: float = 0.05) -> Place:
        """n draws; `shift` and `scale` are the greatest changes at amount 1."""
        return cls(
            shift=spread.around(0, shift, 2, n),
            scale=spread.around(1, scale, n),
            tilt=spread.around(0, 0.16, 2, n),
            light=spread.around(1, 0.13, n),
        )

    def part(self, which: slice) -> Place:
        """Some of the draws."""
        return Place(**{name: values[..., which] for name, values in vars(self).items()})

    def repeated(self, times: int) -> Place:
        """Every draw several times in a row: once for each frame of a clip."""
        return Place(**{n: np.repeat(values, times, axis=-1) for n, values in vars(self).items()})

    def shine(self, canvas: Canvas) -> None:
        """Multiply all pixels by the light."""
        tilt = self.tilt[:, :, None, None]
        slope = tilt[0] * canvas.x + tilt[1] * canvas.y
        canvas.pixels *= self.light[:, None, None] * (1 + slope)
