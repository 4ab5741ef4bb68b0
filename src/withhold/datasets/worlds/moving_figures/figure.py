"""Draw figures from their attributes and joints: the background, legs, body, head and arms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.datasets.worlds.attribute_set import Codes
from withhold.datasets.worlds.canvas import Canvas, Floats, colours
from withhold.datasets.worlds.moving_figures.backgrounds import draw_backgrounds
from withhold.datasets.worlds.moving_figures.figure_attributes import VALUES
from withhold.datasets.worlds.moving_figures.skeleton import Limb, Point, Skeleton
from withhold.datasets.worlds.nuisance import Place, Spread

CLOTHES = colours(
    "cc2a2a", "ee7b1a", "f0d020", "2f9a3c", "28b5b0", "2c50c8", "8a3cb4", "1e1e22"
)  # fmt: skip
SKIN = colours("f6d3bd", "deb08a", "b07d55", "75503a")
HAIR, HAT = colours("3a2a22"), colours("1b2a4a")


@dataclass(frozen=True)
class ClipNuisance:
    """What differs from clip to clip and is no attribute; the same in all frames of a clip."""

    place: Place
    ground: Floats  # (3, b), colour of the background
    offset: Floats  # (2, b), of the background's pattern
    trousers: Floats  # (3, b)
    width: Floats  # (b,), factor on the width of limbs

    @classmethod
    def draw(cls, n: int, amount: float, rng: np.random.Generator) -> ClipNuisance:
        """n draws. `amount` 0 gives every clip the same light, place and background colour."""
        spread = Spread(amount, rng)
        return cls(
            place=Place.draw(n, spread, shift=0.04, scale=0.04),
            ground=spread.around(0.74, 0.12, n) + spread.around(0, 0.08, 3, n),
            offset=spread.around(0, 0.5, 2, n),
            trousers=spread.around(0.27, 0.06, n) + spread.around(0, 0.06, 3, n),
            width=spread.around(1, 0.08, n),
        )

    def part(self, which: slice) -> ClipNuisance:
        """Some of the draws."""
        return ClipNuisance(
            self.place.part(which),
            *(v[..., which] for v in (self.ground, self.offset, self.trousers, self.width)),
        )


def draw_figures(
    codes: Codes, head: Floats, skeleton: Skeleton, nuisance: ClipNuisance, side: int
) -> Floats:
    """Pixels (3, b, frames, side, side), about 0..1. `head` (b,) has the radius of each head."""
    b, frames = skeleton.turn.shape

    def each(values: npt.NDArray[np.generic]) -> Floats:
        """One value a clip as one a frame, (b * frames, 1, 1)."""
        return np.repeat(values.astype(np.float32), frames)[:, None, None]

    def colour(values: Floats) -> Floats:
        return np.repeat(values, frames, axis=1)

    def flag(name: str, value: str) -> npt.NDArray[np.bool_]:
        return np.asarray(codes[name] == VALUES[name].index(value))

    broad = flag("build", "broad")
    limb = each(np.where(broad, 0.125, 0.085) * nuisance.width)
    clothes, skin = CLOTHES[:, codes["clothes"]], SKIN[:, codes["skin"]]
    # Arms are a little darker than the body, so that they show in front of it.
    sleeves = np.float32(0.8) * clothes
    lower_arm = np.where(flag("sleeves", "long"), sleeves, skin)

    place = nuisance.place.repeated(frames)
    canvas = Canvas(side, place.shift, place.scale)
    ground = draw_backgrounds(codes["background"], nuisance.ground, nuisance.offset, side)
    canvas.pixels[:] = np.repeat(ground, frames, axis=1)

    for leg in (skeleton.left_leg, skeleton.right_leg):
        _limb(canvas, leg, colour(nuisance.trousers), colour(nuisance.trousers), limb * 1.15)
    turn = _flat(skeleton.turn)
    depth = np.sqrt(np.cos(turn) ** 2 + (0.5 * np.sin(turn)) ** 2)  # a body is an oval from above
    torso = each(np.where(broad, 0.40, 0.25) * nuisance.width) * depth
    _bone(canvas, skeleton.hips, skeleton.shoulders, colour(clothes), torso)
    _head(canvas, skeleton, each(head), colour(skin), each(flag("hat", "yes")))
    for arm in (skeleton.left_arm, skeleton.right_arm):
        _limb(canvas, arm, colour(sleeves), colour(lower_arm), limb)

    place.shine(canvas)
    return canvas.pixels.reshape(3, b, frames, side, side)


def _flat(values: npt.NDArray[np.float64]) -> Floats:
    """(b, frames) as (b * frames, 1, 1)."""
    return values.astype(np.float32).reshape(-1, 1, 1)


def _limb(canvas: Canvas, limb: Limb, upper: Floats, lower: Floats, width: Floats) -> None:
    _bone(canvas, limb.start, limb.middle, upper, width)
    _bone(canvas, limb.middle, limb.end, lower, width * np.float32(0.9))


def _bone(canvas: Canvas, start: Point, end: Point, colour: Floats, width: Floats) -> None:
    (ax, ay), (bx, by) = ([_flat(c) for c in point] for point in (start, end))
    _line(canvas, ax, ay, bx, by, width, colour)


def _line(
    canvas: Canvas, ax: Floats, ay: Floats, bx: Floats, by: Floats, width: Floats, colour: Floats,
    shown: Floats | None = None,
) -> None:  # fmt: skip
    _look_at(canvas, np.minimum(ax, bx), np.maximum(ax, bx), np.minimum(ay, by), np.maximum(ay, by),
             width / 2)  # fmt: skip
    cover = canvas.stroke(ax, ay, bx, by, width)
    canvas.paint(colour, cover if shown is None else cover * shown)


def _look_at(
    canvas: Canvas, left: Floats, right: Floats, top: Floats, bottom: Floats, margin: Floats
) -> None:
    """Restrict the canvas to what a shape can cover in any of the pictures."""
    edge = margin.max() + 2 * canvas.pixel.max()
    canvas.region(
        (
            float(left.min() - edge),
            float(right.max() + edge),
            float(top.min() - edge),
            float(bottom.max() + edge),
        )
    )


def _head(canvas: Canvas, skeleton: Skeleton, radius: Floats, skin: Floats, hat: Floats) -> None:
    """A ball of hair, the face on the side to which the figure looks, and the hat."""
    x, y = (_flat(c) for c in skeleton.head)
    _look_at(canvas, x, x, y, y, radius * 1.2)
    canvas.paint(HAIR, canvas.ellipse(x, y, radius, radius * np.float32(1.1)))
    look = x + np.float32(0.6) * radius * np.sin(_flat(skeleton.turn))
    face = canvas.ellipse(look, y + 0.22 * radius, radius * np.float32(0.8), radius * 0.88)
    canvas.paint(skin, face * canvas.ellipse(x, y, radius, radius * np.float32(1.1)))
    for half, up, width in ((1.3, 0.5, 0.3), (0.6, 0.9, 0.7)):  # brim and crown, in radii
        level, reach = y - up * radius, half * radius
        _line(canvas, x - reach, level, x + reach, level, width * radius, HAT, hat)
