"""A full disk, and one that may not be written: one line, nothing half-written, and again later."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from withhold.records.dataset import Dataset

from .conftest import Run, snapshot

pytestmark = pytest.mark.slow


def mount(folder: Path, options: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.fixture
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A disk of 256 kB."""
    folder = tmp_path_factory.mktemp("disk")
    if os.geteuid() != 0 or not mount(folder, "size=256k"):
        pytest.skip("mounting a tmpfs needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def files(place: Path) -> Path:
    """Data whose release, features and journal need more than that disk has."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 64), dtype=np.float32)
    Dataset.from_arrays(x, {"a": [i % 2 for i in range(2000)]}).write("large.parquet")
    sounds = [rng.integers(-3000, 3000, 2000).astype(np.int16) for _ in range(100)]
    pq.write_table(pa.table({"audio_8khz": sounds, "a": ["x", "y"] * 50}), "sound.parquet")
    return place


COMMANDS = {
    "fit": (
        "fit",
        "large.parquet",
        "--suppress",
        "a",
        "--method",
        "mass",
        "--config",
        "wide.yaml",
        "--key",
        "owner.key",
        "-o",
    ),
    "transform": ("transform", "wide", "large.parquet", "-o"),
    "extract": ("extract", "sound.parquet", "-o"),
    "audit": ("audit", "data.parquet", "data.parquet", "--suppress", "secret", "-o"),
}
OUTPUT = {"fit": "b", "transform": "r.parquet", "extract": "e.parquet", "audit": "a"}
CONFIG = """
epochs: 1
hidden: [8]
attribute_model: {epochs: 1, hidden: [256, 128]}
contrastive: {epochs: 1, projection: 4}
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_full(files: Path, disk: Path, cli: Run, command: str) -> None:
    Path("wide.yaml").write_text(CONFIG)
    noise = ("fit", "large.parquet", "--suppress", "a", "--method", "noise", "-o", "wide", "-q")
    assert cli(*noise).code == 0
    if command == "audit":
        (disk / "ballast").write_bytes(bytes(252 * 1024))
    target = disk / OUTPUT[command]
    before = snapshot(disk)
    ran = cli(*COMMANDS[command], target, "-q")
    assert "the disk is full" in ran.mistake
    assert snapshot(disk) == before
    if command != "fit":
        return
    # With a little more room some epochs are kept, to go on from; the bundle is not there, and
    # with enough it is the one that never met a full disk.
    subprocess.run(["mount", "-o", "remount,size=700k", str(disk)], check=True)
    assert "the disk is full" in cli(*COMMANDS[command], target, "-q").mistake
    assert not target.exists()
    assert not [p for p in disk.rglob("*") if p.name.startswith(".")]
    subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
    ran = cli(*COMMANDS[command], target)
    assert ran.code == 0
    assert "resuming" in ran.err
    assert cli(*COMMANDS[command], "other", "-q").code == 0
    assert snapshot(target) == snapshot(Path("other"))
    assert {p.name for p in disk.iterdir()} == {"b"}


@pytest.mark.parametrize("command", ["transform", "extract"])
def test_full_disk_leaves_an_older_file(files: Path, disk: Path, cli: Run, command: str) -> None:
    noise = ("fit", "large.parquet", "--suppress", "a", "--method", "noise", "-o", "wide", "-q")
    assert cli(*noise).code == 0
    target = disk / OUTPUT[command]
    target.write_text("an older one")
    before = snapshot(disk)
    assert "the disk is full" in cli(*COMMANDS[command], target, "-q").mistake
    assert snapshot(disk) == before


def test_full_disk_leaves_an_older_audit_whole(place: Path, disk: Path, cli: Run) -> None:
    """Not a new audit.json beside an old report.html."""
    (disk / "a").mkdir()
    for name in ("audit.json", "report.html"):
        (disk / "a" / name).write_text("older")
    room = shutil.disk_usage(disk).free
    (disk / "ballast").write_bytes(bytes(room - 8192))
    before = snapshot(disk)
    assert "the disk is full" in cli(*COMMANDS["audit"], disk / "a", "-q").mistake
    assert snapshot(disk) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_read_only(files: Path, disk: Path, cli: Run, command: str) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    Path("wide.yaml").write_text(CONFIG)
    ran = cli(*COMMANDS[command], disk / OUTPUT[command], "-q")
    assert "cannot be written (no permission)" in ran.mistake
