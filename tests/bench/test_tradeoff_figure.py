"""The trade-off figure: where points lie, and that each curve can be told without its colour."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from withhold.bench.chart_marks import looks_of
from withhold.bench.tradeoff_figure import WIDTH, Curve, Panel, Spot, draw_figure

SVG = "{http://www.w3.org/2000/svg}"


def spots(*places: tuple[float, float]) -> tuple[Spot, ...]:
    return tuple(Spot(f"at {x}", x, y, x + 0.05) for x, y in places)


def drawn(count: int) -> ET.Element:
    curves = (
        Curve("codebook", "codebook", spots((0.1, 0.5), (0.3, 0.7), (0.6, 0.95))),
        Curve("mine", "another", spots((0.2, 0.4))),
    )
    panels = [Panel(f"useful {i}", curves, 0.3) for i in range(count)]
    text = draw_figure(panels, title="a <title>", suppressed="secret", floor=0.05, original=0.9)
    return ET.fromstring(text)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_places(count: int) -> None:
    figure = drawn(count)
    lines = figure.findall(f".//{SVG}polyline")
    assert len(lines) == count
    for line in lines:
        points = np.array([p.split(",") for p in line.get("points", "").split()], float)
        assert (np.diff(points[:, 0]) > 0).all()  # more is read further right
        assert (np.diff(points[:, 1]) < 0).all()  # more is left further up
        # Three points at 0.1, 0.3 and 0.6: the scale is even.
        across = np.diff(points[:, 0])
        assert across[1] / across[0] == pytest.approx(1.5, abs=0.01)
    height = float(figure.get("height", ""))
    for one in figure.iter():
        for name, most in (("x1", WIDTH), ("x2", WIDTH), ("cx", WIDTH), ("y1", height)):
            assert -20 <= float(one.get(name, "0")) <= most


def test_light_and_dark() -> None:
    style = drawn(1).find(f"{SVG}style")
    assert style is not None
    assert "@media (prefers-color-scheme:dark)" in (style.text or "")
    inks = re.findall(r"\.m-codebook\{color:(#\w+)\}", style.text or "")
    assert len(set(inks)) == 2


def test_no_two_curves_look_alike_without_colour() -> None:
    methods = ("identity", "constant", "random-substitute", "leace", "noise", "mass", "mass-it",
               "pass", "codebook", "codebook", "codebook")  # fmt: skip
    looks = looks_of([(f"{i}", method) for i, method in enumerate(methods)])
    seen = {(look.shape, look.kind.split()[-1]) for look in looks.values()}
    assert len(seen) == len(methods)
