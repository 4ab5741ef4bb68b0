"""Anti-aliased shapes on a batch of images at once, from distances to their edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# Single precision throughout, which the types of numpy cannot follow.
Floats = npt.NDArray[np.floating[Any]]
# A number, or one for each image of the batch: (b, 1, 1).
Each = Floats | float
# The part of the picture in which a shape may lie: left, right, top, bottom.
Box = tuple[float, float, float, float]
ALL: Box = (-9.0, 9.0, -9.0, 9.0)


def colours(*rows: str) -> Floats:
    """Hexadecimal colours as (3, k) in 0..1."""
    return np.array([[*bytes.fromhex(row)] for row in rows], np.float32).T / np.float32(255)


class Canvas:
    """b square images. Coordinates run from -1 (left, top) to 1; pixels are (3, b, side, side).

    `x` (b, 1, side) and `y` (b, side, 1) are where pixels lie in the coordinates of the drawing,
    which differ from those of the image by a shift and a scale.
    """

    def __init__(self, side: int, shift: Floats, scale: Floats) -> None:
        """`shift` (2, b) moves the drawing right and down; `scale` (b,) enlarges it."""
        centres = ((np.arange(side) + 0.5) * (2 / side) - 1).astype(np.float32)
        zoom = scale[:, None, None]
        self.side = side
        self.x = (centres[None, None, :] - shift[0][:, None, None]) / zoom
        self.y = (centres[None, :, None] - shift[1][:, None, None]) / zoom
        self.pixel = (2 / side / zoom).astype(np.float32)
        self.pixels = np.empty((3, len(scale), side, side), np.float32)
        self.region(ALL)

    def region(self, box: Box) -> None:
        """Restrict what follows to a part of the drawing: a shape costs as much as its region."""
        left, right, top, bottom = box
        columns = np.flatnonzero(((self.x > left) & (self.x < right)).any(axis=(0, 1)))
        rows = np.flatnonzero(((self.y > top) & (self.y < bottom)).any(axis=(0, 2)))
        self._columns = slice(columns[0], columns[-1] + 1)
        self._rows = slice(rows[0], rows[-1] + 1)
        self.u, self.v = self.x[:, :, self._columns], self.y[:, self._rows]

    def paint(self, colour: Floats, cover: Floats, strength: float = 1.0) -> None:
        """Lay a colour (3, b) or (3, 1), in 0..1, over the pixels of the region."""
        part = self.pixels[:, :, self._rows, self._columns]
        if strength != 1:
            cover = cover * np.float32(strength)
        for channel, shade in zip(part, colour, strict=True):
            change = shade[:, None, None] - channel
            change *= cover
            channel += change

    def inside(self, distance: Floats) -> Floats:
        """How much of each pixel is covered, from the signed distance to an edge (negative inside):
        clip(1/2 - distance / pixel, 0, 1)."""
        cover = distance / -self.pixel
        cover += np.float32(0.5)
        return np.clip(cover, 0, 1, out=cover)

    def ellipse(self, cx: Each, cy: Each, rx: Each, ry: Each) -> Floats:
        """Cover of an ellipse. With f = (u/rx)^2 + (v/ry)^2 - 1, the distance is f / |grad f|."""
        return self.inside(self.ellipse_distance((self.u - cx) / rx, (self.v - cy) / ry, rx, ry))

    @staticmethod
    def ellipse_distance(u: Floats, v: Floats, rx: Each, ry: Each) -> Floats:
        """Signed distance of points, given in units of the radii."""
        f = u * u + v * v
        slope = (u / rx) ** 2 + (v / ry) ** 2
        f -= 1
        slope += np.float32(1e-6)
        np.sqrt(slope, out=slope)
        f /= slope
        f *= np.float32(0.5)
        return np.asarray(f, np.float32)

    def ring(self, cx: Each, cy: Each, rx: Each, ry: Each, width: Each) -> Floats:
        """Cover of the outline of an ellipse, `width` wide."""
        distance = self.ellipse_distance((self.u - cx) / rx, (self.v - cy) / ry, rx, ry)
        return self.inside(np.abs(distance) - width / 2)

    def stroke(self, ax: Each, ay: Each, bx: Each, by: Each, width: Each) -> Floats:
        """Cover of a straight line from a to b with round ends."""
        du, dv = self.u - ax, self.v - ay
        ex, ey = bx - ax, by - ay
        along = (du * ex + dv * ey) / (ex * ex + ey * ey)
        np.clip(along, 0, 1, out=along)
        distance = np.hypot(du - along * ex, dv - along * ey)
        return self.inside(np.asarray(distance, np.float32) - width / 2)

    def below(self, line: Floats | float) -> Floats:
        """Cover of what lies below a line y = line(x)."""
        return self.inside(np.asarray(line - self.v, np.float32))

    def bytes(self) -> npt.NDArray[np.uint8]:
        """The images (b, side, side, 3), 0 to 255."""
        np.clip(self.pixels, 0, 1, out=self.pixels)
        levels = np.rint(self.pixels * np.float32(255)).astype(np.uint8)
        return np.ascontiguousarray(levels.transpose(1, 2, 3, 0))
