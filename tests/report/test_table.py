"""The audit's table in a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from report import samples
from report.pieces import evidence, found, linked
from withhold.audit.evidence import Evidence
from withhold.report import print_table

RED, GREEN, YELLOW = "\x1b[1;31m", "\x1b[1;32m", "\x1b[1;33m"


def printed(sample: Evidence, *, width: int = 100, colour: bool = False, title: str = "") -> str:
    out = io.StringIO()
    system = "standard" if colour else None
    console = Console(file=out, width=width, force_terminal=colour, color_system=system)  # type: ignore[arg-type]
    print_table(sample, console=console, title=title)
    return out.getvalue()


def test_prose_is_broken_at_spaces_in_a_terminal_only() -> None:
    """A terminal of 80 columns would break inside words; a pipe gets one line a message."""
    note = "records of 'person' are in train and test alike, so attackers were kept apart " * 3
    sample = samples.voices().model_copy(update={"notes": (note.strip(),)})
    out = io.StringIO()
    print_table(sample, console=Console(file=out, width=80, force_terminal=True, color_system=None))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert all(len(line) <= 80 for line in lines)
    assert f"note: {note.strip()}" in " ".join(lines)  # no word is cut
    assert f"note: {note.strip()}" in printed(sample, width=80).splitlines()


def one(informed: float, **others: object) -> Evidence:
    return evidence({"speaker": found("suppress", informed=informed, **others)})  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [80, 100])
def test_every_figure_fits(width: int) -> None:
    text = printed(samples.voices(), width=width)
    [row] = [line for line in text.splitlines() if line.startswith("speaker ")]
    figures = ["1.7", "99.0", "0.2", "98.4", "(98.1–98.7)", "100.0", "5.71"]
    assert row.split() == ["speaker", "suppress", *figures]
    assert all(len(line) <= width for line in text.split("verdict")[0].splitlines())
    assert "name      role" in text


def test_legend_verdict_and_gate() -> None:
    text = printed(samples.voices())
    for piece in (
        "accuracy in % on held-out records",
        "frozen: a model of the originals",
        "note: 12 records",
        "verdict: suppressed but still readable by an attacker: speaker: 100.0 %",
        "FAIL speaker>floor+2",
        "PASS digit<95",
    ):
        assert piece in text
    assert "PASS" not in printed(samples.voices(gate=None))


def test_twenty_linked_or_the_most_there_are() -> None:
    def cells(**sizes: dict[int, float]) -> list[list[str]]:
        made = {n: found("suppress", informed=0.5, linked=linked(s)) for n, s in sizes.items()}
        lines = printed(evidence(made)).splitlines()
        return [line.split()[-2:-1] for n in sizes for line in lines if line.startswith(f"{n} ")]

    assert cells(a={5: 0.6, 20: 0.7, 50: 0.8}) == [["70.0"]]
    assert cells(a={5: 0.6, 10: 0.65}) == [["65.0"]]
    assert cells(a={20: 0.7}, b={5: 0.6}) == [["×20"], ["×5"]]
    assert cells(a={20: 0.7}, b={}) == [["70.0"], ["–"]]
    assert "linked" not in printed(samples.blind())


def test_a_release_of_another_width_has_no_frozen_figure() -> None:
    assert " – " in printed(one(0.8, ignorant=None))


def test_the_original_alone() -> None:
    text = printed(samples.alone())
    assert "this data" in text
    assert "frozen" not in text
    assert "verdict: an attacker can read from the data: speaker: 99.0 %" in text


def test_colour_follows_the_status() -> None:
    assert RED in printed(one(0.8), colour=True)
    assert RED in printed(one(0.1, ignorant=0.8), colour=True)
    assert GREEN in printed(one(0.1), colour=True)
    assert YELLOW in printed(samples.blind(), colour=True)
    kept = printed(evidence({"digit": found("preserve", informed=0.8)}), colour=True)
    assert not any(colour in kept for colour in (RED, GREEN, YELLOW))


@pytest.mark.parametrize("name", ["[/red]", "[bold]", samples.IMG, "[red]x[/]"])
def test_names_are_not_markup(name: str) -> None:
    assert name in printed(evidence({name: found("suppress", informed=0.8)}), width=120)
    assert name in printed(one(0.8), title=name)


def test_names_do_not_steer_the_terminal() -> None:
    name = "\x1b]0;owned\x07\x1b[2J"
    text = printed(evidence({name: found("suppress", informed=0.8)}, notes=(name,)), title=name)
    assert "\x1b" not in text
    assert "\x07" not in text
