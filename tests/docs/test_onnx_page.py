"""The page on ONNX: its commands and its Python run, and its table names every input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs.page_commands import DOCS, run_commands, run_python
from docs.small_voices import QUICK_CODEBOOK, write_voices
from withhold.bundle.onnx_export.channel_forms import CELL, CLASS, UNIFORM
from withhold.bundle.onnx_export.image_forms import IMAGE, NEW_CLASS
from withhold.bundle.onnx_export.reader_graphs import FOLD


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = write_voices(Path("voices.parquet"))
    assert run_commands("onnx.md", extra={"fit": QUICK_CODEBOOK}) == [0, 0]
    names: Any = run_python("onnx.md")
    assert names["released"].shape == data.x.shape
    assert np.isfinite(names["released"]).all()
    assert set(np.unique(names["code"])) <= set(range(len(names["bundle"].modifier.codes)))


def test_every_input_is_told() -> None:
    page = (DOCS / "onnx.md").read_text()
    for name in (UNIFORM, CLASS, CELL, FOLD, IMAGE, NEW_CLASS, "noise", "x"):
        assert f"`{name}`" in page
