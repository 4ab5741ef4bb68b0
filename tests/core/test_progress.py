from __future__ import annotations

import re
import sys

import pytest

from withhold.core import progress
from withhold.core.progress import Bars, Lines, OnlyWarnings, Silent, for_python


@pytest.fixture
def clock(monkeypatch):
    """A clock that only moves when told."""

    class Clock:
        now = 100.0

    monkeypatch.setattr(progress.time, "monotonic", lambda: Clock.now)
    return Clock


def test_silence(capfd):
    with Silent().stage("fitting", 10) as stage:
        stage.advance(3, note="loss 1")
    Silent().say("hello")
    assert capfd.readouterr() == ("", "")


def test_lines_say_how_much_time_is_left(capfd, clock):
    lines = Lines(every=5)
    with lines.stage("fitting", 100) as stage:
        clock.now += 4
        stage.advance(10)
        assert capfd.readouterr().err == ""  # not yet
        clock.now += 6
        stage.advance(10, note="loss 0.5")
        # 10 s for 20 of 100 steps: 40 s for the other 80.
        assert capfd.readouterr().err == "fitting: 20 %, loss 0.5, 40 s left\n"
        clock.now += 30
        stage.advance(5)
        assert capfd.readouterr().err == "fitting: 25 %, 2 min 0 s left\n"
        clock.now += 5
        stage.advance(100)
        assert capfd.readouterr().err.endswith(", 0 s left\n")
    out, err = capfd.readouterr()
    assert err == "fitting: done in 45 s\n"
    assert out == ""


def test_lines_of_work_of_unknown_size(capfd, clock):
    with Lines(every=5).stage("reading", None) as stage:
        clock.now += 6
        stage.advance(12345)
    assert capfd.readouterr().err == "reading: 12,345\nreading: done in 6 s\n"


def test_short_work_is_not_worth_a_line(capfd):
    with Lines().stage("reading", 3) as stage:
        stage.advance(3)
    assert capfd.readouterr() == ("", "")


def test_bars_without_a_terminal_keep_to_standard_error(capfd):
    bars = Bars()
    with bars.stage("outer", 2) as outer:
        outer.advance(note="loss 0.25")
        with bars.stage("inner", None) as inner:
            inner.advance(7)
        bars.say("a [line] with 50 % and no markup")
        outer.advance()
    out, err = capfd.readouterr()
    assert out == ""
    assert "a [line] with 50 % and no markup\n" in err
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", err)
    assert "outer" in plain
    assert "2/2" in plain
    assert "inner" in plain


def test_bars_break_prose_at_spaces(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    Bars().say("columns that could not be checked are left out of the release")
    lines = [line.rstrip() for line in capfd.readouterr().err.splitlines()]
    assert lines == ["columns that could not be checked are", "left out of the release"]


def test_bars_can_be_used_again_after_a_failure(capfd):
    bars = Bars()

    def fail() -> None:
        with bars.stage("first", 2):
            raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        fail()
    with bars.stage("second", 1) as stage:
        stage.advance()
    assert "second" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (75, "1 min 15 s"), (3600, "60 min 0 s")],
)
def test_seconds_as_people_read_them(seconds, text):
    assert progress._clock(seconds) == text


def test_a_script_shows_only_warnings(capfd, monkeypatch):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    shown = for_python()
    assert isinstance(shown, OnlyWarnings)
    with shown.stage("work", 3) as stage:
        stage.advance()
    shown.say("a note")
    shown.say("warning: two people share an id")
    told = capfd.readouterr()
    assert (told.out, told.err) == ("", "warning: two people share an id\n")


def test_a_terminal_shows_bars_and_a_notebook_lines(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert isinstance(for_python(), Bars)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert isinstance(for_python(), Lines)
