"""The entry point: quick to start, and honest in its exit code."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from withhold import __version__

from .conftest import Run

WITHHOLD = Path(sys.executable).with_name("withhold")


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    heavy = ("torch", "sklearn", "pyarrow", "numpy", "pandas", "scipy")
    code = "import sys, withhold.cli.main; print([m for m in sys.argv[1:] if m in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", code, *heavy], check=True, capture_output=True, text=True
    )
    assert found.stdout == "[]\n"

    def seconds() -> float:
        # Of the processor, not of the clock: another program may want the core as well.
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        told = subprocess.run([WITHHOLD, "--help"], check=True, capture_output=True, text=True)
        assert "transform" in told.stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(3)) < 0.5


def test_no_command_shows_the_help(cli: Run) -> None:
    ran = cli()
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Usage: ")
    assert ran.out == cli("--help").out == cli("-h").out


@pytest.mark.parametrize(
    "command",
    [
        "demo",
        "inspect",
        "release",
        "compare",
        "extract",
        "fit",
        "transform",
        "certify",
        "audit",
        "bench",
    ],
)
def test_every_command_has_help(cli: Run, command: str) -> None:
    ran = cli(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert cli(command, "-h") == ran
    assert "--quiet" in ran.out
    assert "--json" in ran.out


def test_version(cli: Run) -> None:
    assert cli("--version").out == f"withhold {__version__}\n"


def test_bench_lists_its_recipes(cli: Run) -> None:
    ran = cli("bench", "list")
    assert ran.code == 0
    assert "audiomnist-table3 " in ran.out


def test_our_bug_is_told_as_such(place: Path, cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("withhold.actions.inspect.feasibility", lambda *_: 1 / 0)
    ran = cli("inspect", "data.parquet")
    assert ran.code == 1
    assert "ZeroDivisionError" in ran.err
    assert ran.err.splitlines()[-1].startswith("error: this is a bug in withhold")


def test_whole_process(place: Path) -> None:
    """Exit codes and streams as a shell sees them; a reader that goes; an output that is full."""

    def run(command: str) -> subprocess.CompletedProcess[str]:
        shell = ["bash", "-c", f"set -o pipefail; {command}"]
        return subprocess.run(shell, check=False, capture_output=True, text=True)

    ran = run(f"{WITHHOLD} inspect zz.csv")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "error: no such file: zz.csv\n"
    ran = run(f"{WITHHOLD} fit data.parquet --supress a -o b")
    assert ran.returncode == 2
    assert len(ran.stderr.splitlines()) == 1
    for output in ("", "--json"):
        ran = run(f"{WITHHOLD} inspect data.parquet {output} | true")
        assert (ran.returncode, ran.stderr) == (0, "")
    if Path("/dev/full").exists():
        ran = run(f"{WITHHOLD} inspect data.parquet --json > /dev/full")
        assert ran.returncode == 2
        told = "error: standard output cannot be written: No space left on device\n"
        assert ran.stderr == told


# --- completion in the shell ------------------------------------------------------------------


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Typer finds the shell by the parent process, which no test can choose; and a home."""
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return "bash"


def test_completion_is_shown(cli: Run, shell: str) -> None:
    ran = cli("--show-completion")
    assert (ran.code, ran.err) == (0, "")
    assert "_WITHHOLD_COMPLETE=complete_bash" in ran.out


def test_completion_is_installed(cli: Run, shell: str, tmp_path: Path) -> None:
    ran = cli("--install-completion")
    assert (ran.code, ran.err) == (0, "")
    [script] = (tmp_path / ".bash_completions").iterdir()
    assert script.name == "withhold.sh"
    assert "_WITHHOLD_COMPLETE=complete_bash" in script.read_text()


def test_a_shell_without_completion_is_a_mistake(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("tcsh", "/bin/tcsh"))
    ran = cli("--show-completion")
    assert ran.code == 2
    assert ran.err == "Shell tcsh not supported.\n"


@pytest.mark.parametrize(
    ("words", "wanted"),
    [("withhold tr", ["transform"]), ("withhold fit --sup", ["--suppress"])],
)
def test_words_are_completed(
    cli: Run, monkeypatch: pytest.MonkeyPatch, words: str, wanted: list[str]
) -> None:
    monkeypatch.setenv("_WITHHOLD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    ran = cli()
    assert (ran.code, ran.out.split(), ran.err) == (0, wanted, "")


def test_as_a_module() -> None:
    shell = [sys.executable, "-m", "withhold", "inspect", "nowhere.csv"]
    told = subprocess.run(shell, check=False, capture_output=True, text=True)
    assert (told.returncode, told.stdout) == (2, "")
    assert "no such file: nowhere.csv" in told.stderr
