"""Logs that a user turns on: every figure arrives, with a name that the tool takes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from logged_runs import mlflow_figures, tensorboard_figures
from withhold.core import run_log
from withhold.core.errors import UserError
from withhold.core.run_log import RunLogs


def _written(spec: str) -> None:
    with RunLogs(spec, "fit") as log:
        log.facts({"method": "mass", "seed": 0})
        log.number("loss/modifier/a: b=ü", 0.5, 1)
        log.number("loss/modifier/a: b=ü", 0.25, 2)


@pytest.mark.parametrize("kind", ["tensorboard", "mlflow"])
def test_every_figure_arrives(tmp_path: Path, kind: str) -> None:
    _written(f"{kind}:{tmp_path / 'runs'}")
    read = {"tensorboard": tensorboard_figures, "mlflow": mlflow_figures}[kind]
    assert read(tmp_path / "runs") == {"loss/modifier/a_ b__": {1: 0.5, 2: 0.25}}


def test_runs_are_kept_apart(tmp_path: Path) -> None:
    for _ in range(2):
        _written(f"tensorboard:{tmp_path}")
    assert {f.name for f in tmp_path.iterdir()} == {"fit-1", "fit-2"}


def test_several_logs_get_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Kept:
        def __init__(self, folder: Path, run: str) -> None:
            self.told: list[tuple[str, float, int]] = []
            kept.append(self)

        def number(self, name: str, value: float, step: int) -> None:
            self.told.append((name, value, step))

        def facts(self, found: Mapping[str, str | float]) -> None: ...

        def close(self) -> None:
            self.told.append(("closed", 0, 0))

    kept: list[Kept] = []
    monkeypatch.setattr(run_log, "_KINDS", {"one": Kept, "two": Kept})
    with RunLogs([f"one:{tmp_path}", f"two:{tmp_path}"], "fit") as log:
        log.number("a", 1)
    assert [k.told for k in kept] == [[("a", 1.0, 0), ("closed", 0, 0)]] * 2


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("tensorbord:runs", "did you mean 'tensorboard'"),
        ("tensorboard", "name a folder"),
        ("mlflow:http://host:5000", "name a folder"),
        ("tensorboard:file", "is a file"),
    ],
)
def test_mistakes(spec: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    with pytest.raises(UserError, match=said):
        RunLogs(spec, "fit")


def test_without_the_package_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow.tracking", None)
    with pytest.raises(UserError, match=r"withhold\[log\]"):
        RunLogs(f"mlflow:{tmp_path}", "fit")


def test_no_log_is_the_default(tmp_path: Path) -> None:
    with RunLogs((), "fit") as log:
        log.number("a", 1)
