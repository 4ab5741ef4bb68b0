"""An audit of media that another system changed: other suffixes, and some of them lost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from withhold.records.dataset import Dataset

from .conftest import Run

PATTERN = ("--pattern", "{person}_{side}_*")
LOST = ("0_0_004.png", "1_1_051.png")


@pytest.fixture
def spot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`faces`: `side` is a bright half, `person` a stripe; `theirs`: blurred by somebody else."""
    from PIL import Image, ImageFilter

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("faces", "theirs"):
        (tmp_path / name).mkdir()
    for i in range(120):
        side, person = i % 2, i // 2 % 2
        pixels = rng.integers(0, 60, (32, 32), dtype=np.uint8)
        pixels[:, 16 * side : 16 * side + 16] += 90
        pixels[8:14] += np.uint8(80 * person)
        image = Image.fromarray(pixels).convert("RGB")
        image.save(f"faces/{person}_{side}_{i:03d}.jpg", quality=95)
        image.filter(ImageFilter.GaussianBlur(1)).save(f"theirs/{person}_{side}_{i:03d}.png")
    for name in LOST:
        (tmp_path / "theirs" / name).unlink()
    return tmp_path


def figures(folder: str) -> dict[str, float]:
    found = json.loads((Path(folder) / "audit.json").read_text())["attributes"]
    return {name: a["informed"]["accuracy"] for name, a in found.items()}


def test_by_the_names_of_files(spot: Path, cli: Run) -> None:
    assert cli("extract", "faces", "--extractor", "pixels", *PATTERN, "-o", "f.parquet").code == 0
    assert cli("extract", "theirs", "--like", "f.parquet", "-o", "t.parquet").code == 0
    audit = ("audit", "f.parquet", "t.parquet", "--suppress", "person", "--quick", "-o", "audit")
    told = cli(*audit).mistake
    assert told.startswith("f.parquet has 120 records and t.parquet 118; a release has the same")
    assert "--id" in told
    ran = cli(*audit, "--id", "file")
    assert ran.code == 0, ran.err
    warning = (
        "warning: 2 of 120 records of f.parquet are not in t.parquet; only the others are audited"
    )
    assert warning in ran.err
    assert min(figures("audit").values()) > 0.9


def test_of_folders(spot: Path, cli: Run) -> None:
    audit = ("audit", "faces", "theirs", *PATTERN, "--suppress", "person", "--quick", "-o", "audit")
    assert "choose an extractor with --extractor" in cli(*audit).mistake
    ran = cli(*audit, "--extractor", "pixels")
    assert ran.code == 0, ran.err
    assert "warning: 2 of 120 records" in ran.err
    assert min(figures("audit").values()) > 0.9


@pytest.mark.slow
def test_of_a_release_of_ours(spot: Path, cli: Run) -> None:
    """Its files are numbered in a secret order: in that order, nothing can be read from it."""
    fit = ("fit", "faces", *PATTERN, "--method", "blur", "--preset", "adience-weak")
    assert cli(*fit, "--suppress", "person", "-o", "b", "-q").code == 0
    assert cli("transform", "b", "faces", *PATTERN, "-o", "ours", "-q").code == 0
    audit = ("audit", "faces", "ours", *PATTERN, "--suppress", "person", "--quick", "-o", "audit")
    told = cli(*audit, "--extractor", "pixels", "-q").mistake
    assert told.startswith("no 'file' of original.parquet is in release.parquet")
    assert "--names" in told
    ran = cli(*audit, "--extractor", "pixels", "--names", "ours.names.csv")
    assert ran.code == 0, ran.err
    assert "warning" not in ran.err
    assert min(figures("audit").values()) > 0.9
    release = Dataset.read("audit/release.parquet")
    assert set(release.table["file"].to_pylist()) == {p.stem for p in Path("faces").iterdir()}
    told = cli(*audit, "--extractor", "pixels", "--same-order", "-q").mistake
    assert "numbers files at random, so their order says nothing" in told


def test_mistakes_cost_no_extraction(spot: Path, cli: Run) -> None:
    from .conftest import snapshot

    before = snapshot(spot)
    audit = ("--suppress", "person", "--quick", "-o", "audit", "--extractor", "pixels", *PATTERN)
    assert "no such file or folder: thiers" in cli("audit", "faces", "thiers", *audit).mistake
    told = cli("audit", "faces", "theirs", *audit, "--names", "no.csv").mistake
    assert "the list of names no.csv cannot be read" in told
    told = cli("audit", "faces", "theirs", *audit, "--extractor", "pixel").mistake
    assert "did you mean 'pixels'" in told
    assert snapshot(spot) == before


@pytest.mark.slow
def test_the_list_of_another_release_or_original_is_refused(spot: Path, cli: Run) -> None:
    """Every record would be paired with a stranger, and any release would look private."""
    how = ("--extractor", "pixels", "--set", "side=8", "--suppress", "person", "--quick", "-q")
    gate = ("--fail-if", "person>floor+10")
    for name in ("one", "two"):
        fit = ("fit", "faces", "--method", "pixelate", "--suppress", "person", *PATTERN, "-q")
        assert cli(*fit, "-o", f"b-{name}").code == 0
        assert cli("transform", f"b-{name}", "faces", "-o", name, "-q").code == 0
    audit = ("audit", "faces", "one", *PATTERN, *how, *gate, "-o", "a")
    assert cli(*audit, "--names", "one.names.csv").code == 3
    told = cli(*audit, "--names", "two.names.csv").mistake
    assert "two.names.csv is the list of another release than one" in told

    pixels = np.stack([np.asarray(_open(p)) for p in sorted(spot.glob("faces/*.jpg"))])
    who = np.array([p.name[0] for p in sorted(spot.glob("faces/*.jpg"))])
    order = np.random.default_rng(0).permutation(len(who))
    np.savez("in.npz", x=pixels, person=who)
    np.savez("other.npz", x=pixels[order], person=who[order])
    assert cli("fit", "in.npz", "--method", "blur", "--suppress", "person", "-o", "b").code == 0
    assert cli("transform", "b", "in.npz", "-o", "out.npz", "-q").code == 0
    audit = ("out.npz", *how, *gate, "-o", "c")
    assert cli("audit", "in.npz", *audit).code == 3
    told = cli("audit", "other.npz", *audit).mistake
    assert "does not say that out.npz was made from other.npz" in told


@pytest.mark.slow
def test_names_from_the_private_list_did_not_leave(spot: Path, cli: Run) -> None:
    """Black pictures tell nothing, whatever their files were called."""
    from PIL import Image

    fit = ("fit", "faces", "--method", "pixelate", "--suppress", "person", *PATTERN, "-q")
    assert cli(*fit, "-o", "b").code == 0
    assert cli("transform", "b", "faces", "-o", "out", "-q").code == 0
    lines = Path("out.names.csv").read_text().splitlines()
    for path in Path("out").glob("*.jpg"):
        Image.new("RGB", (32, 32)).save(path)
    plain = "\n".join(",".join(line.split(",")[:2]) for line in lines)  # as other tools list them
    Path("plain.csv").write_text(plain + "\n")
    how = ("--extractor", "pixels", "--set", "side=8", "--suppress", "person", "--quick", "-q")
    ran = cli("audit", "faces", "out", *PATTERN, *how, "--names", "plain.csv", "-o", "a")
    assert ran.code == 0, ran.err
    assert figures("a")["person"] < 0.7
    found = json.loads(Path("a/audit.json").read_text())
    assert "file" not in [column["name"] for column in found["columns"]]


def _open(path: Path) -> np.ndarray:
    from PIL import Image

    with Image.open(path) as image:
        return np.array(image)
