"""Recipes of media on made-up sets: releases and features side by side, and nothing done twice."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from made_media import make_media
from withhold.audit.attackers import Logistic
from withhold.bench import Recipe, find_recipe, media_features, media_releases, run_recipe
from withhold.bench.examples import draw_clip_examples, draw_examples
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.datasets.media_sets import public_media
from withhold.media.contact_sheet import SIDE

pytestmark = pytest.mark.slow

IMAGES = """
title: "made-up faces"
kind: media
data: cmufaces
suppress: person
measure: [person, eyes]
paper_title: "nowhere"
extractors:
  - {name: pixels, settings: {side: 8}}
  - {name: pixels, settings: {side: 4}, label: fewer pixels}
rows:
  - {label: original, paper_note: "1 2"}
  - {label: noise, method: noise, suppress: person, config: {sigma: 9}}
  - {label: "blur, k 3", method: blur, suppress: person, config: {kernel: 3, sigma: 1}}
  - {label: downsample, method: downsample, suppress: person, config: {ratio: 30}}
"""
SOUNDS = """
title: "made-up voices"
kind: media
data: audiomnist
most: 64
suppress: speaker
measure: [speaker]
extractors: [{name: logmel, settings: {bands: 16}}]
rows:
  - {label: original, paper: {speaker: 99.0}}
  - {label: mask, method: mask, suppress: speaker}
"""


@pytest.fixture(autouse=True)
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WITHHOLD_DATA", str(make_media(tmp_path / "data")))
    monkeypatch.setattr(media_releases, "ATTACKERS", (Logistic(),))


def recipe(folder: Path, text: str) -> Recipe:
    (folder / "made.yaml").write_text(text)
    return find_recipe(str(folder / "made.yaml"))


def test_images(tmp_path: Path) -> None:
    found = run_recipe(recipe(tmp_path, IMAGES), tmp_path / "out", progress=Silent())
    written = json.loads((tmp_path / "out" / "results.json").read_text())
    assert written == json.loads(json.dumps(found.to_dict()))
    assert [(r["extractor"], r["label"]) for r in written["rows"]] == [
        (extractor, label)
        for extractor in ("pixels", "fewer pixels")
        for label in ("original", "noise", "blur, k 3", "downsample")
    ]
    original, noise, blur, shrunk = written["rows"][:4]
    assert {r["records"] for r in written["rows"]} == {120}
    assert (original["features"], written["rows"][4]["features"]) == (64, 16)
    assert original["informed"] == original["ignorant"] == original["probe"]
    assert original["informed"]["person"] > 0.9
    assert noise["informed"]["person"] < 0.8
    assert blur["informed"]["person"] > 0.9
    assert shrunk["informed"]["person"] < 0.7  # one grey for all of it
    assert original["guess"]["person"] == pytest.approx(1 / 3, abs=0.1)
    text = (tmp_path / "out" / "table.md").read_text()
    assert "`withhold bench made`" in text
    assert "Suppressed: person" in text
    assert "| 1 2 |" in text
    examples(tmp_path / "out" / "examples.png", rows=3)


def examples(path: Path, *, rows: int) -> None:
    """One row an anonymiser and one for the original; no two alike."""
    from PIL import Image

    sheet = np.asarray(Image.open(path).convert("L"), int)
    step = SIDE + 4
    text = sheet.shape[1] - 8 * step  # as wide as the longest label
    assert text > 4
    assert sheet.shape[0] == rows * step + 4
    first = [sheet[4 + r * step : 4 + r * step + SIDE, text : text + SIDE] for r in range(rows)]
    assert all(image.std() > 0 for image in first)
    assert all(np.abs(first[0] - image).mean() > 1 for image in first[1:])


def test_a_second_run_does_nothing_and_a_changed_row_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    first = run_recipe(recipe(tmp_path, IMAGES), out, progress=Silent())
    done: list[str] = []
    spied = {
        "evaluate": media_releases,
        "extract_to": media_features,
        "release_media": media_releases,
    }
    for name, module in spied.items():
        real = getattr(module, name)

        def spy(*args: object, _name: str = name, _real: object = real, **more: object) -> object:
            done.append(_name)
            return _real(*args, **more)  # type: ignore[operator]

        monkeypatch.setattr(module, name, spy)
    assert run_recipe(recipe(tmp_path, IMAGES), out, progress=Silent()).rows == first.rows
    assert done == []
    changed = IMAGES.replace("ratio: 30", "ratio: 2")
    found = run_recipe(recipe(tmp_path, changed), out, progress=Silent())
    assert sorted(done) == ["evaluate"] * 2 + ["extract_to"] * 2 + ["release_media"]
    assert found.rows[:3] == first.rows[:3]
    assert found.rows[3].informed["person"] > first.rows[3].informed["person"]


def test_sounds(tmp_path: Path) -> None:
    found = run_recipe(recipe(tmp_path, SOUNDS), tmp_path / "out", progress=Silent())
    original, mask = found.rows
    assert original.records == mask.records == 64
    assert original.informed["speaker"] > 0.9
    header, lines = found.cells()
    assert "paper" not in header
    assert lines[-2][2].startswith("99.0 / ")
    assert lines[-1][2].startswith("– / ")
    assert not (tmp_path / "out" / "examples.png").exists()


def test_a_table_needs_extractors(tmp_path: Path) -> None:
    text = "\n".join(line for line in SOUNDS.splitlines() if "extractors" not in line)
    with pytest.raises(UserError, match="a table needs 'extractors'"):
        recipe(tmp_path, text)


def test_examples_of_few_images(tmp_path: Path) -> None:
    file = public_media("cmufaces", tmp_path, most=3)
    draw_examples(file, {}, tmp_path / "sheet.png", images=2)
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")


def test_clips_play_beside_their_releases(tmp_path: Path) -> None:
    from PIL import Image

    file = public_media("moving-figures", tmp_path, most=30, settings={"nuisance": 0})
    target = tmp_path / "examples.gif"
    draw_clip_examples(file, {"blur": file, "blacken": file}, target, clips=3)
    with Image.open(target) as gif:
        assert gif.n_frames == 8  # type: ignore[attr-defined]
        first = np.asarray(gif.convert("L"), int)
        gif.seek(4)
        later = np.asarray(gif.convert("L"), int)
    assert np.abs(first - later).max() > 20  # it moves
    step = SIDE + 4
    assert first.shape[0] >= 20 + 3 * step
    width = first.shape[1] // 3
    for row in range(3):
        top = 20 + row * step
        places = [(slice(top, top + SIDE), slice(c * width + 4, c * width + 100)) for c in range(3)]
        assert first[places[0]].std() > 5
        assert np.abs(first[places[0]] - first[places[1]]).mean() < 2
