"""The page on logs: its commands and its Python run, and the names that it lists are logged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from docs.page_commands import run_commands, run_python
from docs.small_voices import QUICK_CODEBOOK, write_voices
from logged_runs import mlflow_figures, tensorboard_figures


@pytest.mark.slow
def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = write_voices(Path("voices.parquet"))
    assert run_commands("logging.md", extra={"fit": QUICK_CODEBOOK}) == [0, 0]
    names: Any = run_python("logging.md")
    assert names["bundle"].method == "noise"
    of_fit, both = mlflow_figures(Path("mlruns")), tensorboard_figures(Path("runs"))
    assert set(of_fit) < set(both)
    assert {"certificate/speaker/bound", "audit/speaker/informed", "audit/speaker/floor"} <= set(
        both
    )
    assert any(name.startswith("loss/") for name in of_fit)
    labels = set(pc.unique(data.table["speaker"]).drop_null().to_pylist())
    logged = b"".join(f.read_bytes() for f in Path().glob("*runs/**/*") if f.is_file())
    assert not any(label.encode() in logged for label in labels)
    assert Path("bundle/key").read_bytes() not in logged
