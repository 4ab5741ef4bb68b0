"""report.html: self-contained, escaped, and honest about what leaks."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from withhold.audit.evidence import AttributeEvidence, Evidence
from withhold.audit.metrics import Score
from withhold.report import render, write_report
from withhold.roles import Role

IMG = "<img src=x onerror=alert(1)>"


def scored(accuracy: float) -> Score:
    return Score(accuracy, (accuracy - 0.05, accuracy + 0.05), accuracy)


def found(
    role: Role, *, informed: float, ignorant: float | None = 0.1, floor: float = 0.1
) -> AttributeEvidence:
    return AttributeEvidence(
        role=role,
        classes=10,
        records=100,
        majority=0.1,
        floor=floor,
        original=scored(0.9),
        ignorant=None if ignorant is None else scored(ignorant),
        informed=scored(informed),
    )


def evidence(attributes: dict[str, AttributeEvidence], distortion: float | None = 1.5) -> Evidence:
    settings = {"seed": 0, "attackers": ["mlp"], "train": 1600, "val": 200, "test": 200}
    return Evidence(2000, attributes, distortion, settings)


def text_of(page: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page)))


def test_page_says_what_was_measured(tmp_path: Path) -> None:
    all_roles = {
        "speaker": found("suppress", informed=0.8),
        "digit": found("preserve", informed=0.95),
        "accent": found("hidden", informed=0.7, ignorant=None),
    }
    write_report(evidence(all_roles), tmp_path / "r.html", title="Voices & more")
    page = (tmp_path / "r.html").read_text()
    assert list(tmp_path.iterdir()) == [tmp_path / "r.html"]
    text = text_of(page)
    assert "Voices & more" in text
    assert "2,000 records; attackers fitted on 1,600" in text
    for name in all_roles:
        assert name in text
    assert "hidden from the method, measured" in text
    assert "80.0 %" in text
    assert "A record moved by 1.500" in text
    assert "{{" not in page
    assert "{%" not in page


@pytest.mark.parametrize("distortion", [None, 0.0])
def test_page_fetches_nothing_and_runs_nothing(distortion: float | None) -> None:
    page = render(evidence({"speaker": found("suppress", informed=0.8)}, distortion))
    assert not re.search(r"https?:|//[a-z]|<script|<link|<iframe|<img|@import|url\(", page, re.I)
    assert not re.search(r"\b(src|href|action|on[a-z]+)\s*=", page, re.I)


@pytest.mark.parametrize("role", ["suppress", "preserve", "hidden"])
def test_names_are_escaped(role: Role) -> None:
    quote = '" onload="alert(2)'
    named = {IMG: found(role, informed=0.8), quote: found(role, informed=0.1)}
    page = render(evidence(named), title="</title><script>alert(3)</script>")
    assert "<img" not in page
    assert "<script" not in page
    assert not re.search(r"<[^>]*\bonload=\"", page)
    assert html.escape(IMG) in page


def verdict(page: str) -> str:
    block = re.search(r'<div class="(verdict[^"]*)">(.*?)</div>', page, re.S)
    assert block is not None
    return f"{block[1]}: {text_of(block[2])}"


def test_words_for_a_leak() -> None:
    told = verdict(render(evidence({"speaker": found("suppress", informed=0.8)})))
    assert told.startswith("verdict leaks:")
    assert "speaker can still be read." in told
    assert "80.0 % of the records, even though a model trained on the original data gets" in told


def test_words_for_a_leak_to_the_frozen_model_alone() -> None:
    """The page, the table and audit.json agree on what a leak is."""
    leak = evidence({"speaker": found("suppress", informed=0.1, ignorant=0.6)})
    told = verdict(render(leak))
    assert told.startswith("verdict leaks:")
    assert "speaker can still be read. A model trained on the original data" in told
    assert "60.0 %" in told
    assert "still readable" in leak.verdict


def test_words_for_no_leak() -> None:
    held = evidence({"speaker": found("suppress", informed=0.12)})
    told = verdict(render(held))
    assert told.startswith("verdict: ")
    assert "speaker was not read." in told
    assert "not a bound on others" in told
    assert "can still be read" not in told
    assert "not distinguishable from the floor" in held.verdict
