"""An audit of media attacks what small images do not show: fine detail, sizes, metadata, order."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image, PngImagePlugin

import withhold
from audit.pictures import parts
from withhold import Dataset
from withhold.actions.audit_files import audit_files
from withhold.actions.audit_request import AuditRequest, MediaFeatures
from withhold.actions.request import Opening
from withhold.audit.attackers import Logistic, PixelCnn, PixelDetail, Prior
from withhold.audit.audit_settings import AuditSettings
from withhold.audit.evidence import Evidence
from withhold.audit.lost_records import refuse_telling_loss
from withhold.core.errors import UserError
from withhold.records.readers import Samples
from withhold.records.samples import Picture
from withhold.report import render

N, SIDE = 300, 32
RNG = np.random.default_rng(7)
LABELS = RNG.integers(0, 2, N)
BRIEF: dict[str, Any] = {"width": 8, "images": 6_000, "most_epochs": 12, "rate": 2e-3}
LADDER = (Prior(), Logistic(), PixelCnn(**BRIEF), PixelDetail(**BRIEF))
HOW: dict[str, Any] = {
    "suppress": "way",
    "extractor": "pixels",
    "extractor_settings": {"side": 8},
    "pixels": 16,
    "attackers": LADDER,
    "workers": 1,
    "quick": True,
    "same_order": True,
}


def smooth(n: int = N, side: int = SIDE) -> np.ndarray:
    """Images without detail, and without a class: random colours of 4 x 4 fields."""
    fields = RNG.integers(60, 190, (n, 4, 4, 3)).astype(np.uint8)
    return fields.repeat(side // 4, axis=1).repeat(side // 4, axis=2)


def original() -> Dataset:
    """Half of each image is dark or bright by class, so that the original is read."""
    images = smooth()
    images[:, :, : SIDE // 2] = np.where(LABELS, 200, 50)[:, None, None, None]
    return Dataset.from_arrays(images, {"way": LABELS, "split": parts(N)}, name="faces")


def audited(images: np.ndarray | list[np.ndarray]) -> tuple[Evidence, dict[str, float]]:
    release = Dataset.from_arrays(np.asarray(images), name="release")
    found = withhold.audit(original(), release, **HOW)
    ladder = found.attributes["way"].ladder
    return found, {r.attacker: r.accuracy or 0.0 for r in ladder if r.skipped is None}


def checkerboard(side: int = SIDE) -> np.ndarray:
    """Single pixels, +1 and -1 by turns."""
    places = np.arange(side)
    return ((places[:, None] + places) % 2 * 2 - 1)[..., None]


@pytest.mark.slow
def test_a_release_without_the_class_is_at_the_floor() -> None:
    found, read = audited(smooth())
    assert found.attributes["way"].status == "floor"
    assert {"pixels-cnn", "pixels-detail"} <= set(read)


@pytest.mark.parametrize(
    "leak", ["sign", "strength", "line", "lowest bit", "second bit", "corner", "blue"]
)
def test_detail_of_single_pixels_is_read(leak: str) -> None:
    """At 16 x 16 pixels little or nothing of it is left."""
    images = smooth().astype(np.int64)
    classes = LABELS[:, None, None, None]
    if leak == "sign":  # the same strength everywhere; only the place of bright pixels differs
        images += 30 * (2 * classes - 1) * checkerboard()
    elif leak == "strength":
        images += 12 * classes * checkerboard()
    elif leak == "line":  # in a corner, far from the middle, bright and dark in turn
        images[:, 1, 1:9] += 25 * LABELS[:, None, None] * checkerboard()[0, :8]
    elif leak == "corner":  # the sign, far from the middle
        corner = 30 * (2 * classes - 1) * checkerboard(8)
        images[:, :8, :8] += corner
    elif leak == "blue":
        images[..., 2:] += 12 * classes * checkerboard()
    elif leak == "lowest bit":
        images = images & ~1 | classes
    else:
        images = images & ~2 | 2 * classes
    found, read = audited(images.clip(0, 255).astype(np.uint8))
    assert read["pixels-detail"] > 0.9
    if leak in ("sign", "strength"):  # the ends of a line and a level of 255 may show
        assert max(read["logistic"], read["pixels-cnn"]) < 0.75
    assert found.attributes["way"].status == "readable"


def save(folder: Path, name: str, image: np.ndarray, **how: Any) -> None:
    folder.mkdir(exist_ok=True)
    Image.fromarray(image).save(folder / name, **how)


def audited_files(tmp_path: Path, **settings: Any) -> Evidence:
    for number, image in enumerate(original().media.items()):  # type: ignore[union-attr]
        name = f"{number:03d}_{LABELS[number]}.png"
        save(tmp_path / "faces", name, image.content.pixels)  # type: ignore[union-attr]
    request = AuditRequest(
        original=tmp_path / "faces",
        release=tmp_path / "released",
        output=tmp_path / "audit",
        settings=AuditSettings(suppress=("way",), quick=True, pixels=0, **settings),
        media=MediaFeatures(
            extractor="pixels",
            settings={"side": 8},
            opening=Opening(pattern="*_{way}"),
        ),
        same_order=True,
    )
    return audit_files(request)


@pytest.mark.parametrize("leak", ["width", "metadata", "late text", "dpi", "spare bytes", "bytes"])
def test_what_travels_with_an_image_is_attacked(tmp_path: Path, leak: str) -> None:
    for number, (image, label) in enumerate(zip(smooth(), LABELS, strict=True)):
        if leak == "width":
            image = image[:, : SIDE - 2 * label]
        how: dict[str, Any] = {}
        if leak == "metadata":
            how["pnginfo"] = PngImagePlugin.PngInfo()
            how["pnginfo"].add_text("comment", "female" if label else "male")
        if leak == "dpi":
            how["dpi"] = (72, 72) if label else (96, 96)
        if leak == "bytes":
            how["compress_level"] = 9 * label
        save(tmp_path / "released", f"{number:03d}.png", image, **how)
        file = tmp_path / "released" / f"{number:03d}.png"
        if leak == "late text":  # after the picture, where most readers stop
            before, end = file.read_bytes()[:-12], file.read_bytes()[-12:]
            text = b"tEXtclass\0" + (b"one" if label else b"two")
            chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
            file.write_bytes(before + chunk + end)
        if leak == "spare bytes":
            file.write_bytes(file.read_bytes() + (b"abc" if label else b"xyz"))
    found = audited_files(tmp_path, fail_if=("way>floor+20",))
    way = found.attributes["way"]
    assert way.status == "readable"
    assert way.column is not None
    assert way.column.accuracy > 0.9
    told = {c.name for c in found.columns if c.tells and c.tells["way"].sure}
    assert (f"({leak})" if leak in ("width", "bytes") else "(metadata)") in told
    assert found.gate is not None
    assert not found.gate.passed


@pytest.mark.parametrize("hidden", ["several frames", "colours under transparency", "8 bits"])
def test_pictures_that_hold_more_than_is_seen_are_refused(tmp_path: Path, hidden: str) -> None:
    for number, image in enumerate(smooth()):
        name, how = f"{number:03d}.png", {}
        if number == 7 and hidden == "several frames":
            name = "007.tiff"
            how = {"save_all": True, "append_images": [Image.fromarray(image)]}
        elif number == 7 and hidden == "8 bits":
            image = np.full((SIDE, SIDE), 40_000, np.uint16)
        elif number == 7:
            image = np.dstack([image, np.full((SIDE, SIDE), 0, np.uint8)])
        save(tmp_path / "released", name, image, **how)
    with pytest.raises(UserError, match=f"1 of 300 images of .*{hidden}.*no attacker reads"):
        audited_files(tmp_path)


def test_records_whose_absence_reveals_a_class_are_refused() -> None:
    """An anonymiser that fails on most people of one class leaves them out."""
    faces = original().with_column("name", pa.array([f"face {i}" for i in range(N)]))
    lost = (LABELS == 1) & (np.arange(N) % 3 > 0)
    with pytest.raises(UserError, match="not in the release, and which ones reveals 'way'"):
        refuse_telling_loss(faces, ~lost, ["way"])
    refuse_telling_loss(faces, np.arange(N) % 3 > 0, ["way"])


def test_equal_sizes_are_no_columns_to_attack(tmp_path: Path) -> None:
    for number, image in enumerate(smooth()):
        save(tmp_path / "released", f"{number:03d}.bmp", image)
    found = audited_files(tmp_path)
    same = {c.name: c.why_not for c in found.columns}
    assert same["(width)"] == same["(bytes)"] == "it is the same in every record"
    assert found.attributes["way"].status == "floor"


def test_sizes_in_memory_are_attacked() -> None:
    images = [image[:, : SIDE - 2 * label] for image, label in zip(smooth(), LABELS, strict=True)]
    pictures = [Picture(np.ascontiguousarray(image)) for image in images]
    media = Samples(pictures, pa.table({}), "image")
    found = withhold.audit(original(), Dataset.of_media(media), **HOW)
    column = found.attributes["way"].column
    assert column is not None
    assert column.column == "(width)"


@pytest.mark.slow
def test_contents_that_may_belong_to_other_names_prove_nothing() -> None:
    """The same names in the same order on both sides, but each has the image of another record."""
    faces = original()
    names = pa.array([f"face {number}" for number in RNG.permutation(N)])
    pictures = np.stack([item.content.pixels for item in faces.media.items()])  # type: ignore[union-attr]
    shuffled = Dataset.from_arrays(pictures[RNG.permutation(N)], {"name": names})
    how = HOW | {"same_order": False, "id": "name", "fail_if": "way>floor+20"}
    found = withhold.audit(faces.with_column("name", names), shuffled, **how)
    assert found.attributes["way"].status == "blind"
    assert "nothing shows that records of the release are compared" in found.verdict
    assert found.gate is not None
    assert not found.gate.passed
    assert "vouch for their order" in found.gate.failures[0]
    assert "cannot say whether this may leave" in render(found)
    right = Dataset.from_arrays(pictures, {"name": names})
    assert withhold.audit(faces.with_column("name", names), right, **how).verdict != found.verdict
