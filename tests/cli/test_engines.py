"""The commands of docs/scale.md, and mistakes about engines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine_support import KEY
from withhold.actions.fit import fit_bundle
from withhold.bench.release_memory import write_records
from withhold.certificate import plan_tally
from withhold.core.progress import Silent
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`people.parquet` and a bundle for it, in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plan_tally, "_KEPT", 0)
    write_records(tmp_path / "people.parquet", 400, 6, progress=Silent())
    data = Dataset.read(tmp_path / "people.parquet")
    fit_bundle(data, Roles.of("two"), method="noise", key=KEY).save("people.bundle")
    return tmp_path


def commands() -> list[list[str]]:
    block = re.search(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert block is not None
    return [shlex.split(line)[1:] for line in block[1].strip().splitlines()]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray and Spark themselves
@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_the_transforms_of_the_page(engine: str, people: Path, cli: Callable[..., Any]) -> None:
    pytest.importorskip({"ray": "ray", "spark": "pyspark"}[engine])
    command = next(c for c in commands() if c[0] == "transform" and engine in c)
    assert cli(*command).code == 0
    made = (people / "release.parquet").read_bytes()
    assert cli(*command[: command.index("--engine")]).code == 0
    assert made == (people / "release.parquet").read_bytes()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_fit_of_the_page(
    people: Path, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    monkeypatch.setattr("withhold.records.streamed.MOST", 100)
    command = next(c for c in commands() if c[0] == "fit")
    assert cli(*command).code == 0
    assert (people / "people-exact.bundle").is_dir()


def test_every_command_of_the_page_names_options_that_exist(cli: Callable[..., Any]) -> None:
    names = {c[0] for c in commands()}
    assert names == {"transform", "release", "fit", "certify", "audit", "extract"}
    for name in names:
        shown = cli(name, "--help").out
        assert "--engine" in shown
        assert "--workers" in shown


def test_an_unknown_engine_is_a_mistake(people: Path, cli: Callable[..., Any]) -> None:
    given = ("transform", "people.bundle", "people.parquet", "-o", "out.parquet")
    assert "did you mean 'spark'" in cli(*given, "--engine", "sparc").mistake
