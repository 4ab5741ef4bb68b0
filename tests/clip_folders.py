"""Drawn clips and images as files in the layouts of UCF101, HMDB51, VISPR, PA-HMDB51 and HVU."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from release_support import picture_bytes
from withhold.datasets.vispr import NAMES
from withhold.media.decode.encoded_clips import encode_clip
from withhold.records.samples import Clip

ACTIONS = ("wave", "brush_hair")
SIZE = (24, 32)  # pixels


def clip_of(action: int, person: int, frames: int = 40) -> npt.NDArray[np.uint8]:
    """A square moves right (action 0) or down (action 1); the person is the shade of the rest."""
    height, width = SIZE
    pixels = np.full((frames, height, width, 3), 30 + 25 * person, np.uint8)
    for t in range(frames):
        place = t % 16
        y, x = (place, 4) if action else (4, place)
        pixels[t, y : y + 8, x : x + 8] = (250, 40 * action, 120)
    return pixels


def write_clip(path: Path, pixels: npt.NDArray[np.uint8]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode_clip(Clip(pixels), path.suffix))


def lines(path: Path, rows: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{row}\n" for row in rows))


def make_ucf101(folder: Path, groups: int = 4, clips: int = 2) -> Path:
    """Two actions, each with videos of `groups` groups; the first group is for testing."""
    names = ("ApplyLipstick", "HandstandPushups")
    listed: dict[str, list[str]] = {"train": [], "test": []}
    for number, action in enumerate(names):
        for group in range(1, groups + 1):
            for clip in range(1, clips + 1):
                # As in UCF101, where one action is spelled in two ways.
                spelled = action.replace("Handstand", "HandStand")
                path = f"{action}/v_{spelled}_g{group:02d}_c{clip:02d}.avi"
                write_clip(folder / "UCF-101" / path, clip_of(number, group))
                if group == 1:
                    listed["test"].append(path)
                else:
                    listed["train"].append(f"{path} {number + 1}")
    lists = folder / "ucfTrainTestlist"
    lines(lists / "classInd.txt", [f"{i + 1} {name}" for i, name in enumerate(names)])
    for part, rows in listed.items():
        lines(lists / f"{part}list01.txt", rows)
    return folder


def hmdb_names(videos: int) -> Iterator[tuple[int, str, str, str]]:
    """The number, action, file and part (0, 1 or 2) of every video."""
    for number, action in enumerate(ACTIONS):
        for i in range(videos):
            name = f"Film_{4 * number + i // 2}_{action}_u_nm_np1_fr_med_{i}.avi"
            yield number, action, name, "0" if i == 0 else ("2" if i % 4 == 1 else "1")


def make_hmdb51(folder: Path, videos: int = 8) -> Path:
    """Two actions with videos of four films each; the first video of each is not used."""
    rows: dict[str, list[str]] = {action: [] for action in ACTIONS}
    for number, action, name, part in hmdb_names(videos):
        path = folder / "hmdb51_org" / action / name
        write_clip(path, clip_of(number, int(name.split("_")[1]) % 8))
        rows[action].append(f"{name} {part} ")
    for action, some in rows.items():
        lines(folder / "testTrainMulti_7030_splits" / f"{action}_test_split1.txt", some)
    return folder


def make_vispr(folder: Path, images: int = 40) -> Path:
    """Images whose corners show which of VISPR's labels they have."""
    called = sorted({one for names in NAMES.values() for many in names.values() for one in many})
    rng = np.random.default_rng(0)
    for i in range(images):
        part = ("train", "train", "val", "test")[i % 4]
        has = rng.random(len(called)) < 0.5
        pixels = np.full((*SIZE, 3), 90, np.uint8)
        for j in np.flatnonzero(has):
            pixels[3 * (j // 8) : 3 * (j // 8) + 3, 4 * (j % 8) : 4 * (j % 8) + 4] = 240
        name = f"2017_{10000000 + i}"
        target = folder / f"{part}2017" / f"{name}.jpg"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(picture_bytes(pixels, "JPEG"))
        labels = [called[j] for j in np.flatnonzero(has)]
        note = folder / "annotations" / f"{part}2017" / f"{name}.json"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps({"image_path": f"{part}2017/{name}.jpg", "labels": labels}))
    return folder


def make_pa_hmdb51(folder: Path, hmdb51: Path, videos: int = 3) -> Path:
    """Annotations of the last videos of every action of `hmdb51`, which change at frame 20."""
    rng = np.random.default_rng(1)
    (folder / "PrivacyAttributes").mkdir(parents=True)
    for action in ACTIONS:
        paths = sorted((hmdb51 / "hmdb51_org" / action).iterdir())[-videos:]
        notes: dict[str, Any] = {}
        for path in paths:
            values = rng.integers(0, 3, (5, 2)).tolist()
            notes[path.name] = {
                name: [[0, 19, one], [20, 39, other]]
                for name, (one, other) in zip(NAMES["pa-hmdb"], values, strict=True)
            } | {"review": True}
        (folder / "PrivacyAttributes" / f"{action}.json").write_text(json.dumps(notes))
    return folder


def make_hvu(folder: Path, videos: int = 6) -> Path:
    """HVU's lists and some of its videos."""
    tags = {"running": "action", "diving": "action", "ball": "object", "car": "object",
            "beach": "scene", "street": "scene", "joy": "concept", "rare": "object"}  # fmt: skip
    folder.mkdir(parents=True)
    lines(
        folder / "HVU_Tags_Categories_V1.0.csv",
        ["Tag,Category", *(f"{t},{c}" for t, c in tags.items())],
    )
    head = "Tags,video_id,time_start,time_end"
    rows = {"Train": [head, "running|ball|joy,lone,0,10", "running|rare|beach,odd,0,10"],
            "Val": [head, "running|ball,bare,0,10"]}  # fmt: skip
    for part in rows:
        for i in range(videos):
            action, thing, place = (("running", "ball", "beach"), ("diving", "car", "street"))[
                i % 2
            ]
            rows[part].append(f"{action}|{thing}|{place}|joy,{part.lower()}{i},{i}.0,{i + 10}.0")
            name = f"{part.lower()}{i}_{i:06d}_{i + 10:06d}.mp4"
            if i < videos - 1:  # the last is gone
                write_clip(folder / "videos" / part.lower() / name, clip_of(i % 2, i))
    for part, some in rows.items():
        lines(folder / f"HVU_{part}_V1.0.csv", some)
    return folder


def make_clip_sets(folder: Path) -> Path:
    """All of them below one folder, under the names that media sets look for."""
    make_ucf101(folder / "ucf101")
    make_hmdb51(folder / "hmdb51")
    make_vispr(folder / "vispr")
    make_pa_hmdb51(folder / "pa-hmdb51", folder / "hmdb51")
    make_hvu(folder / "hvu")
    return folder
