"""The audit's table in a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from withhold.audit.evidence import AttributeEvidence, Evidence
from withhold.audit.metrics import Score
from withhold.report import print_table


def printed(name: str, accuracy: float, *, ignorant: float | None = 0.1, title: str = "") -> str:
    def scored(a: float) -> Score:
        return Score(a, (a - 0.05, a + 0.05), a)

    old = None if ignorant is None else scored(ignorant)
    found = AttributeEvidence("suppress", 4, 100, 0.25, 0.25, scored(0.9), old, scored(accuracy))
    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=True, color_system="standard")
    print_table(Evidence(100, {name: found}, None), console=console, title=title)
    return out.getvalue()


def test_figures_and_verdict() -> None:
    text = printed("speaker", 0.8)
    for piece in ("speaker", "suppress", "25.0", "90.0", "10.0", "80.0", "verdict: "):
        assert piece in text
    assert "still readable by an attacker: speaker: 80.0 %" in text


def test_release_of_another_width_has_no_frozen_figure() -> None:
    assert "–" in printed("speaker", 0.8, ignorant=None)


def test_colour_follows_the_leak() -> None:
    red, green = "\x1b[1;31m", "\x1b[1;32m"
    assert red in printed("speaker", 0.8)
    assert red in printed("speaker", 0.2, ignorant=0.8)
    assert green in printed("speaker", 0.25)


@pytest.mark.parametrize("name", ["[/red]", "[bold]", "<img src=x onerror=alert(1)>", "[red]x[/]"])
def test_names_are_not_markup(name: str) -> None:
    assert name in printed(name, 0.8)
    assert name in printed("a", 0.8, title=name)
