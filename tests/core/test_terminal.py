"""Prose for terminals and for pipes."""

from __future__ import annotations

import io

import pytest

from withhold.core.terminal import wrapped

PROSE = "columns that could not be checked are left out; --keep COLUMN releases one anyway " * 4


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [40, 80])
def test_lines_end_at_spaces(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = wrapped(PROSE, Terminal(), indent="    ").splitlines()
    assert len(lines) > 2
    assert all(len(line) <= width for line in lines)
    assert " ".join(" ".join(lines).split()) == PROSE.strip()
    assert all(line.startswith("    ") for line in lines[1:])
    assert not lines[0].startswith(" ")


def test_a_path_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    path = "/a/folder-with-a-long-name/and/another-one/report.html"
    assert path in wrapped(f"see the report in {path}", Terminal()).splitlines()


def test_a_pipe_gets_one_line() -> None:
    assert wrapped(PROSE, io.StringIO()) == PROSE
