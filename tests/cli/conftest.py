"""What the tests of the commands share: a place with small files, and a way to run a command."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support import TINY
from withhold.cli.main import outcome
from withhold.core.key_file import write_key
from withhold.datasets.worlds import two_attributes
from withhold.records.dataset import Dataset


@dataclass(frozen=True)
class Ran:
    """What a command left on the terminal."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def mistake(self) -> str:
        """The one line of a user's mistake; fails where there is more, or less, or a traceback."""
        assert self.code == 2, (self.code, self.err)
        assert self.out == ""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("error: ")
        return lines[0].removeprefix("error: ")


Run = Callable[..., Ran]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process."""

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        code = outcome([str(a) for a in arguments])
        told = capsys.readouterr()
        return Ran(code, told.out, told.err)

    return run


@pytest.fixture(scope="session")
def pantry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that many tests need, made once: data in three formats, settings, a bundle."""
    folder = tmp_path_factory.mktemp("pantry")
    world = two_attributes(
        240, 6, separation_suppress=2.5, separation_preserve=2.5, correlation=0.2, seed=3
    )
    n = len(world.x)
    table = world.attributes.append_column("take", pa.array(np.arange(n) % 40))
    table = table.append_column("person", pa.array([f"p{i % 48}" for i in range(n)]))
    rng = np.random.default_rng(0)
    for label in ("loud", "fast"):
        table = table.append_column(label, pa.array(rng.integers(0, 2, n)))
    table = table.append_column("id", pa.array([f"record {i}" for i in range(n)]))
    names = [f"f_{i}" for i in range(6)]
    data = Dataset.from_arrays(world.x, table)
    data.write(folder / "data.parquet")
    data.write(folder / "data.npz")
    Dataset.from_arrays(world.x, table, names=names).write(folder / "wide.csv")
    lists = pq.read_table(folder / "data.parquet")
    loose = lists["x"].combine_chunks().cast(pa.list_(pa.float32()))
    lists = lists.set_column(0, "x", loose)
    pq.write_table(lists, folder / "lists.parquet")
    (folder / "tiny.yaml").write_text(json.dumps(TINY))
    arguments = [
        "fit",
        "data.parquet",
        "--method",
        "mass",
        "--suppress",
        "secret",
        "--preserve",
        "useful",
        "--key",
        "owner.key",
        "-q",
    ]
    write_key(folder / "owner.key", bytes(range(32)))
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert outcome([*arguments, "--config", "tiny.yaml", "-o", "bundle"]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def place(pantry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own folder, the current one, in which the pantry's files are at hand as links."""
    for path in pantry.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, links left out, and every folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            continue
        found[str(path.relative_to(folder))] = path.read_bytes() if path.is_file() else b""
    return found
