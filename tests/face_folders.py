"""Drawn faces as files in the layouts of CelebA and Adience."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from release_support import picture_bytes
from withhold.datasets.worlds import drawn_faces
from withhold.records.dataset import Dataset
from withhold.records.samples import Picture

ADIENCE_HEADER = [
    "user_id", "original_image", "face_id", "age", "gender", "x", "y", "dx", "dy", "tilt_ang",
    "fiducial_yaw_angle", "fiducial_score",
]  # fmt: skip
AGES = ("(0, 2)", "(4, 6)", "(8, 12)", "(15, 20)", "(25, 32)", "(38, 43)", "(48, 53)", "(60, 100)")


def _jpegs(data: Dataset, *, height: int | None = None) -> list[bytes]:
    assert data.media is not None
    found = []
    for item in data.media.items():
        assert isinstance(item.content, Picture)
        pixels = item.content.pixels
        if height is not None:  # higher than wide, as in CelebA
            extra = height - len(pixels)
            pixels = np.pad(pixels, ((extra // 2, extra - extra // 2), (0, 0), (0, 0)), "edge")
        found.append(picture_bytes(pixels, "JPEG"))
    return found


def make_celeba(folder: Path, n: int = 40, *, csv: bool = False) -> Dataset:
    """n images of 40 x 48 pixels with three attributes; returns what they were drawn from."""
    data = drawn_faces(n, side=40, people=4)
    root = folder / "img_align_celeba" / ("img_align_celeba" if csv else "")
    root.mkdir(parents=True)
    names = [f"{i + 1:06d}.jpg" for i in range(n)]
    for name, jpeg in zip(names, _jpegs(data, height=48), strict=True):
        (root / name).write_bytes(jpeg)
    yes = {
        "Smiling": ("smile", "yes"),
        "Male": ("gender", "male"),
        "Eyeglasses": ("glasses", "yes"),
    }
    marks = {
        name: ["1" if v == value else "-1" for v in data.table[column].to_pylist()]
        for name, (column, value) in yes.items()
    }
    rows = [[name, *values] for name, *values in zip(names, *marks.values(), strict=True)]
    parts = [str(("train", "val", "test").index(p)) for p in data.table["split"].to_pylist()]
    split = [[name, part] for name, part in zip(names, parts, strict=True)]
    people = [p[1:] for p in data.table["person"].to_pylist()]
    if csv:
        _write(folder / "list_attr_celeba.csv", [["image_id", *yes], *rows], ",")
        _write(folder / "list_eval_partition.csv", [["image_id", "partition"], *split], ",")
    else:
        _write(folder / "list_attr_celeba.txt", [[str(n)], [*yes], *rows], "  ")
        _write(folder / "list_eval_partition.txt", split, " ")
        _write(folder / "identity_CelebA.txt", [[*p] for p in zip(names, people, strict=True)], " ")
    return data


def make_adience(
    folder: Path, n: int = 60, *, people: int = 6, side: int = 64, nuisance: float = 1.0
) -> Dataset:
    """n images of both kinds over five folds, a person in one fold only; ages go with hair."""
    data = drawn_faces(n, side=side, people=people, nuisance=nuisance)
    lines: dict[int, list[list[str]]] = {fold: [] for fold in range(5)}
    for i, (jpeg, labels) in enumerate(zip(_jpegs(data), data.table.to_pylist(), strict=True)):
        person = int(labels["person"][1:])
        user, image = f"{person % 3}00@N0{person % 3}", f"{i:05d}_o.jpg"
        for kind in ("aligned/{}/landmark_aligned_face", "faces/{}/coarse_tilt_aligned_face"):
            path = folder / f"{kind.format(user)}.{person}.{image}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(jpeg)
        age = AGES[("black", "brown", "blond", "red", "grey").index(labels["hair"])]
        gender = "m" if labels["gender"] == "male" else "f"
        lines[person % 5].append(
            [user, image, str(person), age, gender, "1", "2", "30", "30", "0", "0", "12"]
        )
    for fold, rows in lines.items():
        _write(folder / f"fold_{fold}_data.txt", [ADIENCE_HEADER, *rows], "\t")
    return data


def _write(path: Path, rows: list[list[str]], separator: str) -> None:
    path.write_text("".join(separator.join(row) + "\n" for row in rows))
