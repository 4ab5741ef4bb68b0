"""The gate recipe: the files parse, and the command in each of them lets safe releases through."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from docs.page_commands import DOCS, commands
from docs.small_voices import write_voices
from withhold.cli.main import outcome
from withhold.records.dataset import Dataset

EXAMPLES = DOCS / "examples"


def workflow() -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load((EXAMPLES / "gate-workflow.yml").read_text())
    return found


def of_workflow() -> list[str]:
    """The arguments of the audit in the workflow, its variables filled in."""
    job = workflow()["jobs"]["audit"]
    (text,) = [s["run"] for s in job["steps"] if "withhold audit" in s.get("run", "")]
    return shlex.split(text.replace("$ORIGINAL", "voices.parquet"))[1:]


def of_hook() -> list[str]:
    """The command that pre-commit runs: the entry of the hook and the user's arguments."""
    (hook,) = yaml.safe_load((DOCS.parent / ".pre-commit-hooks.yaml").read_text())
    config = yaml.safe_load((EXAMPLES / "pre-commit-config.yaml").read_text())
    (used,) = config["repos"][0]["hooks"]
    assert used["id"] == hook["id"]
    assert hook["pass_filenames"] is False
    return [*shlex.split(hook["entry"])[1:], *used["args"]]


def test_the_workflow_is_careful_with_the_original() -> None:
    found = workflow()
    events = found[True]  # YAML reads the word `on` as true
    assert set(events) == {"pull_request"}
    assert found["permissions"] == {"contents": "read"}
    job = found["jobs"]["audit"]
    assert "self-hosted" in job["runs-on"]
    assert job["timeout-minutes"] > 0
    checkout = next(s for s in job["steps"] if "checkout" in s.get("uses", ""))
    assert checkout["with"]["persist-credentials"] is False
    assert all("@" in step["uses"] for step in job["steps"] if "uses" in step)


def test_hook_and_workflow_and_page_run_the_same_audit() -> None:
    assert of_hook() == of_workflow() == commands("gate.md")[1]


@pytest.mark.slow
def test_the_gate_refuses_a_leak_and_passes_a_safe_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = write_voices(Path("voices.parquet"))
    shutil.copy(EXAMPLES / "gate.yaml", "gate.yaml")
    columns = {"colour": data.table["colour"], "split": data.table["split"]}
    Dataset.from_arrays(2 * data.x + 1, columns).write("release.parquet")
    assert outcome(of_workflow()) == 3
    assert "gate failed: speaker" in " ".join(capfd.readouterr().err.split())
    noise = np.random.default_rng(0).standard_normal(data.x.shape).astype(np.float32)
    Dataset.from_arrays(noise, columns).write("release.parquet")
    for command in (of_workflow(), commands("gate.md")[0]):
        shutil.rmtree("audit")
        assert outcome(command) == 0
        assert Path("audit/report.html").exists()
