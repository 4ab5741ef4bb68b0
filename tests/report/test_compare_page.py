"""The page and the table of a comparison say the same as its figures."""

from __future__ import annotations

import re

from compared_rows import compared, row
from withhold.report.charts.leak_and_kept import RowMark, leak_and_kept
from withhold.report.compare_page import render_comparison
from withhold.report.compare_table import comparison_text


def test_the_best_row_is_marked_in_page_and_table() -> None:
    found = compared(
        row("codebook", attack=0.6, proved=0.66, colour=0.8),
        row("exact", attack=0.5, proved=0.52, colour=0.6),
    )
    page, text = render_comparison(found), comparison_text(found)
    for said in (page.replace("\N{NO-BREAK SPACE}", " "), text):
        assert "Best within the limits: exact. It keeps 50.0 % of what the other" in said
    assert len(re.findall(r'<tr class="best">', page)) == 1
    assert "\n* exact" in text
    assert "\n  codebook" in text
    assert "right more often than in 52.0\N{NO-BREAK SPACE}%" in page
    assert "shape" in page.split("Not counted")[1].split("</p>")[0]


def test_without_a_best_row_the_page_says_so() -> None:
    found = compared(row("noise", attack=0.7), budget="secret<=floor+1")
    page = render_comparison(found)
    assert "No method that was tried meets the budget." in page
    assert 'class="best"' not in page


def test_marks_lie_where_their_figures_are() -> None:
    low = RowMark(1, "low", leak=0.0, counts=0.0, kept=1.0, proved=True, best=True)
    high = RowMark(2, "high", leak=0.2, counts=0.5, kept=0.0, proved=False, best=False)
    drawn = leak_and_kept([low, high], name="s", limit=0.01, word="budget")
    circles = re.findall(r'<circle cx="([\d.]+)%" cy="([\d.]+)" r="6" class="([^"]+)"', drawn)
    places = {kind: (float(x), float(y)) for x, y, kind in circles}
    assert places["dot sure best"][0] == 0
    assert places["dot"][0] > 30
    assert places["dot sure best"][1] < places["dot"][1]  # further up
    assert "budget" in drawn
    assert "floor: guessing" in drawn
