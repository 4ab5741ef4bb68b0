"""Draw faces from their attributes: layer after layer, from the background to the hair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.datasets.worlds.attribute_set import Codes
from withhold.datasets.worlds.canvas import ALL, Canvas, Floats, colours
from withhold.datasets.worlds.drawn_faces.face_attributes import VALUES
from withhold.datasets.worlds.nuisance import Place, Spread

SKIN = colours("f6d3bd", "deb08a", "b07d55", "75503a")
HAIR = colours("1c1a1b", "4d2c17", "e6c068", "b4451e", "b9bcc2")
BROWN, BLUE = colours("54331b"), colours("4f86b5")
WHITE, DARK, FRAME = colours("fbf9f4"), colours("2a1d1a"), colours("1d2433")
LIPSTICK, MOUTH, BLUSH = colours("c4163c"), colours("7a2f2c"), colours("e0706a")
TURN = 0.15  # how far the features move in a face that is turned to the side


@dataclass(frozen=True)
class Nuisance:
    """What differs from image to image and is no attribute; one value, or column, for each."""

    place: Place
    ground: Floats  # (3, b), colour of the background
    shirt: Floats  # (3, b)
    grain: float  # deviation of the noise of pixels

    @classmethod
    def draw(cls, n: int, amount: float, rng: np.random.Generator) -> Nuisance:
        """n draws. `amount` 0 gives every image the same light, place and background."""
        spread = Spread(amount, rng)
        return cls(
            place=Place.draw(n, spread),
            ground=spread.around(0.72, 0.14, n) + spread.around(0, 0.10, 3, n),
            shirt=spread.around(0.42, 0.15, n) + spread.around(0, 0.20, 3, n),
            grain=0.02 * amount,
        )


def draw_portraits(
    codes: Codes,
    shape: Mapping[str, Floats],
    nuisance: Nuisance,
    side: int,
    rng: np.random.Generator,
) -> npt.NDArray[np.uint8]:
    """Images (b, side, side, 3). `shape` has the measures of the person in each, (b,)."""
    m = {name: values[:, None, None] for name, values in shape.items()}
    face = _Face(codes, m)
    canvas = Canvas(side, nuisance.place.shift, nuisance.place.scale)
    canvas.pixels[:] = nuisance.ground[:, :, None, None]
    _back_hair(canvas, face)
    _body(canvas, face, nuisance.shirt)
    _head(canvas, face)
    _nose(canvas, face)
    _mouth(canvas, face)
    _eyes(canvas, face)
    _glasses(canvas, face)
    _front_hair(canvas, face)
    nuisance.place.shine(canvas)
    if nuisance.grain:
        noise = rng.standard_normal(canvas.pixels.shape, np.float32)
        canvas.pixels += np.float32(nuisance.grain) * noise
    return canvas.bytes()


class _Face:
    """Attributes and measures as arrays that broadcast over pixels: (b, 1, 1); colours (3, b)."""

    def __init__(self, codes: Codes, m: Mapping[str, Floats]) -> None:
        def flag(name: str, value: str) -> Floats:
            is_it: npt.NDArray[np.bool_] = codes[name] == VALUES[name].index(value)
            return is_it.astype(np.float32)[:, None, None]

        self.m = m
        self.female, self.smile = flag("gender", "female"), flag("smile", "yes")
        self.lipstick, self.beard = flag("lipstick", "yes"), flag("beard", "yes")
        self.glasses = flag("glasses", "yes")
        self.long, self.medium = flag("hair_length", "long"), flag("hair_length", "medium")
        self.turn = flag("pose", "right") - flag("pose", "left")
        self.skin, self.hair = SKIN[:, codes["skin"]], HAIR[:, codes["hair"]]
        self.shade = self.skin * np.float32(0.76)
        # A man's face is broader at the jaw.
        self.width = m["width"] * (1 - 0.06 * np.abs(self.turn))
        self.chin = 0.5 * m["chin"] + 0.34 * self.female
        self.middle = TURN * self.turn  # where the features are
        self.level = m["eye_level"]
        self.eye_height = m["eye_height"] * (1 + 0.25 * self.female)

    def eye(self, which: int) -> tuple[Floats, Floats]:
        """Middle and half width of the left (-1) or right (1) eye; the far one is narrower."""
        near = 1 - 0.22 * np.maximum(which * self.turn, 0)
        return self.middle + which * self.m["eye_distance"] * near, self.m["eye_width"] * near


def _mix(one: Floats, other: Floats, share: float) -> Floats:
    return one + np.float32(share) * (other - one)


def _back_hair(canvas: Canvas, face: _Face) -> None:
    wide = face.width + 0.13
    top = -0.08 - face.m["height"] * 0.2
    end = 0.42 + 0.53 * face.long
    canvas.region(ALL)
    crown = canvas.ellipse(-0.4 * face.middle, top, wide, face.m["height"] * 0.95)
    # Below the crown the hair falls straight down to its end, with round corners.
    u = np.abs(canvas.u + 0.4 * face.middle) - (wide - 0.1)
    v = np.abs(canvas.v - (top + end) / 2) - ((end - top) / 2 - 0.1)
    corner = np.hypot(np.maximum(u, 0), np.maximum(v, 0)) + np.minimum(np.maximum(u, v), 0)
    fall = canvas.inside(np.asarray(corner - 0.1, np.float32))
    cover = np.maximum(crown, fall) * np.maximum(face.long, face.medium)
    canvas.paint(face.hair * np.float32(0.8), cover)


def _body(canvas: Canvas, face: _Face, shirt: Floats) -> None:
    canvas.region((-0.4, 0.4, 0.4, 9.0))
    canvas.paint(face.shade, canvas.stroke(0, 0.5, 0, 0.95, 0.42))
    canvas.region((-9.0, 9.0, 0.6, 9.0))
    neckline = canvas.ellipse(0, 0.78, 0.26, 0.16)
    canvas.paint(shirt, canvas.ellipse(0, 1.2, 0.86, 0.40) * (1 - neckline))


def _head(canvas: Canvas, face: _Face) -> None:
    m = face.m
    canvas.region((-0.85, 0.85, -0.3, 0.4))
    for side in (-1, 1):
        seen = 1 - np.maximum(side * face.turn, 0)  # the far ear is hidden
        at = side * face.width - 0.25 * face.middle
        ear = canvas.ellipse(at, 0.06, m["ear"] * 0.8, m["ear"] * 1.35)
        canvas.paint(face.shade, np.asarray(ear * seen, np.float32))
    canvas.region((-0.75, 0.75, -0.8, 1.0))
    u = canvas.u / (face.width * (1 - face.chin * np.clip(canvas.v - 0.05, 0, 1) ** 1.5 * 1.6))
    v = (canvas.v - 0.06) / m["height"]
    skin = canvas.inside(canvas.ellipse_distance(u, v, face.width, m["height"]))
    canvas.paint(face.skin, skin)
    # The side that is turned away lies in shade, which shows the pose in the smallest pictures.
    far = np.clip(-face.turn * canvas.u * 1.4, 0, 0.5) * skin
    canvas.paint(face.shade, np.asarray(far, np.float32))
    # The beard's upper edge rises from the chin to the ears, and goes around the mouth.
    edge = m["mouth_level"] - 0.10 - 0.9 * (canvas.u - 0.6 * face.middle) ** 2
    beard = canvas.below(np.asarray(edge, np.float32)) * skin * face.beard
    canvas.paint(face.hair * np.float32(0.78), beard)
    for side in (-1, 1):
        eye, _ = face.eye(side)
        cheek = canvas.ellipse(eye * 1.1, 0.24, 0.11, 0.075) * skin * (1 - face.beard)
        canvas.paint(BLUSH, cheek, 0.16)


def _nose(canvas: Canvas, face: _Face) -> None:
    m = face.m
    canvas.region((-0.5, 0.5, -0.2, 0.45))
    tip = face.level + 0.06 + m["nose_length"]
    at = face.middle * 1.5
    canvas.paint(face.shade, canvas.stroke(face.middle * 1.1, face.level, at, tip, 0.035), 0.45)
    canvas.paint(face.shade, canvas.ellipse(at, tip, m["nose_width"], 0.045))
    canvas.paint(
        _mix(face.skin, WHITE, 0.15), canvas.ellipse(at, tip - 0.03, m["nose_width"] * 0.7, 0.035)
    )


def _mouth(canvas: Canvas, face: _Face) -> None:
    m = face.m
    canvas.region((-0.55, 0.55, 0.2, 0.8))
    half = m["mouth_width"] * (1 + 0.25 * face.smile) * (1 - 0.12 * np.abs(face.turn))
    u = (canvas.u - face.middle * 1.15) / half
    arch = np.maximum(1 - u * u, 0)
    # The lips lie between two parabolas that meet in the corners. A smile hangs down between them
    # and is open; a closed mouth is almost straight.
    straight = 1 - face.smile
    corner = m["mouth_level"] - 0.045 * face.smile
    upper = corner + (0.025 * face.smile - 0.012 * straight) * arch
    lower = corner + (0.17 * face.smile + 0.012 * straight) * arch
    lip = (0.022 + 0.026 * face.lipstick) * np.sqrt(arch)
    steep = 1 + 0.3 * face.smile * np.abs(u)  # a distance along y is longer than that to the edge
    ends = (np.abs(u) - 1) * half

    def between(top: Floats, bottom: Floats) -> Floats:
        distance = np.maximum(top - canvas.v, canvas.v - bottom) / steep
        return canvas.inside(np.asarray(np.maximum(distance, ends), np.float32))

    natural = _mix(face.shade, MOUTH, 0.55)
    painted = face.lipstick[:, 0, 0]
    canvas.paint(natural + painted * (LIPSTICK - natural), between(upper - lip, lower + lip * 1.25))
    canvas.paint(WHITE, between(upper, lower) * face.smile)
    middle = (upper + lower) / 2
    canvas.paint(MOUTH * np.float32(0.6), between(middle - 0.010, middle + 0.010) * straight, 0.8)


def _eyes(canvas: Canvas, face: _Face) -> None:
    m = face.m
    iris = BROWN + m["iris"][:, 0, 0] * (BLUE - BROWN)
    brow = _mix(face.hair, DARK, 0.45)
    for side in (-1, 1):
        at, half = face.eye(side)
        canvas.region((-0.62, 0.02, -0.4, 0.2) if side < 0 else (-0.02, 0.62, -0.4, 0.2))
        canvas.paint(WHITE, canvas.ellipse(at, face.level, half, face.eye_height))
        look = at + 0.25 * face.middle
        round_ = face.eye_height * 0.92
        canvas.paint(iris, canvas.ellipse(look, face.level, round_, round_))
        canvas.paint(DARK, canvas.ellipse(look, face.level, round_ * 0.5, round_ * 0.5))
        canvas.paint(WHITE, canvas.ellipse(look + 0.02, face.level - 0.02, 0.014, 0.014))
        # Lashes: a line over the eye, longer and drawn out to the temple for women.
        lid = face.level - face.eye_height * 0.95
        thick = 0.016 + 0.032 * face.female
        outer = at + side * half
        canvas.paint(
            DARK, canvas.stroke(at - side * half * 0.7, lid + 0.01, outer, lid + 0.02, thick)
        )
        wing = canvas.stroke(outer, lid + 0.02, outer + side * 0.05, lid - 0.045, 0.03)
        canvas.paint(DARK, wing * face.female)
        # Brows: low, thick and straight for men, high and thin for women.
        high = face.level - m["brow_gap"] - 0.045 * face.female
        rise = m["brow_slope"]
        width = 0.090 - 0.056 * face.female
        inner, end = at - side * half * 0.9, at + side * half * 1.15
        canvas.paint(brow, canvas.stroke(inner, high, end, high - rise, width))


def _front_hair(canvas: Canvas, face: _Face) -> None:
    m = face.m
    canvas.region((-0.85, 0.85, -1.1, 0.9))
    top = m["height"] + 0.02
    cap = canvas.ellipse(-0.3 * face.middle, -0.02, face.width + 0.075, top + 0.06)
    # The opening for the face: an ellipse whose top is the hairline.
    line = -m["forehead"]
    opening = canvas.ellipse(0.9 * face.middle, line + 0.80, face.width * 0.97, 0.80)
    end = -0.12 + 0.50 * face.medium + 0.72 * face.long
    above = 1 - canvas.below(end)
    canvas.paint(face.hair, cap * (1 - opening) * above)
    shine = canvas.ellipse(-0.12 - 0.3 * face.middle, -0.60, 0.22, 0.05)
    canvas.paint(_mix(face.hair, WHITE, 0.35), shine * cap * (1 - opening), 0.5)


def _glasses(canvas: Canvas, face: _Face) -> None:
    canvas.region((-0.8, 0.8, -0.35, 0.3))
    width, level = 0.042, face.level + 0.01
    (left, left_half), (right, right_half) = face.eye(-1), face.eye(1)
    lenses = [(left, left_half * 1.5), (right, right_half * 1.5)]
    for at, half in lenses:
        canvas.paint(WHITE, canvas.ellipse(at, level, half, 0.13) * face.glasses, 0.18)
        canvas.paint(FRAME, canvas.ring(at, level, half, 0.13, width) * face.glasses)
    bridge = canvas.stroke(
        left + left_half * 1.5, level - 0.03, right - right_half * 1.5 + 1e-3, level - 0.03, width
    )
    canvas.paint(FRAME, bridge * face.glasses)
    for side, (at, half) in zip((-1, 1), lenses, strict=True):
        temple = side * face.width - 0.15 * face.middle
        arm = canvas.stroke(at + side * half, level - 0.02, temple, level - 0.04, 0.034)
        canvas.paint(FRAME, arm * face.glasses)
