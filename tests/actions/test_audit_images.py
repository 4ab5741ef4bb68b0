"""An audit of images attacks their pixels beside their features."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

import withhold
from audit.pictures import bars, parts
from media_support import Brightness
from support import key_of
from withhold import Dataset
from withhold.actions.audit_files import audit_files
from withhold.actions.audit_request import AuditRequest, MediaFeatures
from withhold.actions.request import Opening
from withhold.audit.attackers import Logistic, PixelCnn, Prior
from withhold.audit.audit_case import AuditCase
from withhold.audit.audit_settings import AuditSettings
from withhold.audit.setting_groups import Effort, Pairing
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.media.extractors import extractor_registry
from withhold.records.roles import Roles

N = 300
CNN = PixelCnn(width=8, images=6_000, most_epochs=12, batch=16)
LADDER = (Prior(), Logistic(), CNN)
HOW: dict[str, Any] = {
    "suppress": "way",
    "extractor": "brightness",
    "pixels": 16,
    "attackers": LADDER,
    "workers": 1,
    "quick": True,
}


@pytest.fixture(autouse=True)
def _brightness(monkeypatch: pytest.MonkeyPatch) -> None:
    """An extractor that sees the mean colour of an image, and so nothing of its content."""
    known = extractor_registry.extractor_type

    def found(name: str) -> Any:
        return Brightness if name == "brightness" else known(name)

    monkeypatch.setattr(extractor_registry, "extractor_type", found)


@pytest.fixture(scope="module")
def made() -> Dataset:
    images, upright = bars(N)
    way = np.array(["across", "upright"])[upright]
    return Dataset.from_arrays(images, {"way": way, "split": parts(N)}, name="bars")


def rungs(found: Any, name: str = "way") -> dict[str, float]:
    return {r.attacker: r.accuracy for r in found.attributes[name].ladder if r.skipped is None}


def mirrored(data: Dataset) -> np.ndarray:
    assert data.media is not None
    return np.stack([item.content.pixels[:, ::-1] for item in data.media.items()])  # type: ignore[union-attr]


def test_features_that_say_nothing_do_not_hide_what_pixels_say(made: Dataset) -> None:
    release = Dataset.from_arrays(mirrored(made), name="mirrored")
    found = withhold.audit(made, release, same_order=True, **HOW)
    read = rungs(found)
    assert read["logistic"] < 0.65
    assert read["pixels-cnn"] > 0.9
    way = found.attributes["way"]
    assert way.informed.accuracy > 0.9
    assert way.original.attacker == "pixels-cnn"
    assert way.ignorant is not None
    assert way.ignorant.accuracy > 0.9  # a mirrored bar has the same direction
    assert "way" in found.verdict
    assert found.settings["pixels"] == 16
    assert any("reduced to 16 x 16, and through maps of the detail" in n for n in found.notes)
    assert set(read) <= {"prior", "logistic", "pixels-cnn", "ensemble"}  # quick: no reversal
    without = withhold.audit(
        made, release, same_order=True, **HOW | {"pixels": 0, "attackers": None}
    )
    assert not any("pixels" in name for name in rungs(without))
    assert without.attributes["way"].informed.accuracy < 0.65


@pytest.mark.slow
def test_a_full_audit_starts_from_models_of_the_originals_and_reverses(
    made: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    from withhold.audit import reverse_attack
    from withhold.audit.reversal import Reversal

    brief = Reversal(width=8, images=3_000, batch=16)
    monkeypatch.setattr(reverse_attack, "Reversal", lambda: brief)
    release = Dataset.from_arrays(255 - mirrored(made), name="negative")
    found = withhold.audit(made, release, same_order=True, **HOW | {"quick": False})
    read = rungs(found)
    assert {"pixels-cnn", "pixels-cnn-warm", "reverse", "reverse-warm"} <= set(read)
    assert min(read[n] for n in ("pixels-cnn", "reverse", "reverse-warm")) > 0.85
    text = json.loads(found.json_bytes())
    assert "reverse" in [r["attacker"] for r in text["attributes"]["way"]["ladder"]]


def test_a_release_in_memory_is_paired_by_its_own_list(made: Dataset) -> None:
    bundle = withhold.fit(made, "way", method="pixelate", config={"blocks": 8}, key=key_of(0))
    release = bundle.release(made)
    assert not np.array_equal(release.original_rows, np.arange(N))
    found = withhold.audit(made, release, **HOW)
    assert rungs(found)["pixels-cnn"] > 0.9
    stranger = made.rows(np.random.default_rng(0).permutation(N))
    with pytest.raises(UserError, match="was not made from bars as it is now"):
        withhold.audit(stranger, release, **HOW)


def test_images_that_no_feature_can_be_made_of_are_left_out_in_pairs(
    made: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extractor refuses some originals and other released images."""
    from withhold.records.samples import BadMedia

    before = Brightness.prepare

    def moody(self: Any, sample: Any) -> Any:
        if int(sample.pixels.sum()) % 50 < 2:
            raise BadMedia("not today")
        return before(self, sample)

    bundle = withhold.fit(made, "way", method="pixelate", config={"blocks": 8}, key=key_of(0))
    release = bundle.release(made)
    monkeypatch.setattr(Brightness, "prepare", moody)
    said: list[str] = []

    class Noting(Silent):
        def say(self, line: str) -> None:
            said.append(line)

    found = withhold.audit(made, release, progress=Noting(), **HOW)
    assert any("are not audited" in line for line in said)
    assert N - 60 <= found.original.records < N
    assert found.release is not None
    assert found.release.records == found.original.records
    assert rungs(found)["pixels-cnn"] > 0.9
    with pytest.raises(UserError, match="cannot be used by 'brightness'; remove them"):
        withhold.audit(made, Dataset.from_arrays(mirrored(made)), same_order=True, **HOW)


def test_mistakes(made: Dataset) -> None:
    features = withhold.extract(made, extractor="pixels", settings={"side": 4})
    with pytest.raises(UserError, match="choose how to make features of them"):
        withhold.audit(made, suppress="way")
    with pytest.raises(UserError, match="holds features, and the other side media"):
        withhold.audit(made, features, **HOW)
    with pytest.raises(UserError, match="holds features already; leave out the extractor"):
        withhold.audit(features, features, suppress="way", extractor="pixels")
    with pytest.raises(UserError, match="attacker 'pixels-cnn' needs images"):
        withhold.audit(features, features, suppress="way", attackers=[CNN])
    with pytest.raises(UserError, match="must be a multiple of 8"):
        withhold.audit(made, **HOW | {"pixels": 20})


def test_the_number_of_features_never_makes_them_images() -> None:
    """768 features are a common embedding, and would also be an image of 16 x 16 pixels."""
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.random((60, 768)), {"way": np.arange(60) % 2})
    how = {"average": None, "hidden": None, "joint": ()}
    order = Pairing(same_order=True)
    case = AuditCase.of(data, data, (), Roles.of("way"), order, Effort(), **how)  # type: ignore[arg-type]
    assert case.pixel_side is None


def test_pixels_follow_their_records(made: Dataset) -> None:
    images = np.arange(N, dtype=np.uint8)[:, None, None, None] * np.ones((1, 3, 8, 8), np.uint8)
    data = replace(Dataset.from_arrays(np.zeros((N, 2)), {"n": np.arange(N)}), pixels=images)
    some = data.rows(np.array([7, 3]))
    assert some.pixels is not None
    assert some.pixels[:, 0, 0, 0].tolist() == [7, 3]
    assert data.with_features(np.ones((N, 2), np.float32)).pixels is None


def test_folders_whose_release_changed_only_its_names(tmp_path: Path) -> None:
    """A release of untouched pictures in another format is caught by name, through pixels too."""
    images, upright = bars(150)
    for i, (image, up) in enumerate(zip(images, upright, strict=True)):
        for folder, suffix in (("faces", "png"), ("released", "bmp")):
            (tmp_path / folder).mkdir(exist_ok=True)
            Image.fromarray(image).save(tmp_path / folder / f"{up}_{i:03d}.{suffix}")
    (tmp_path / "released" / "0_999.bmp").write_bytes(b"not an image")
    request = AuditRequest(
        original=tmp_path / "faces",
        release=tmp_path / "released",
        output=tmp_path / "audit",
        settings=AuditSettings(suppress=("way",), quick=True, pixels=16, fail_if=("way>floor+20",)),
        media=MediaFeatures(extractor="brightness", opening=Opening(pattern="{way}_*")),
    )
    found = audit_files(request)
    read = rungs(found)
    assert read["logistic"] < 0.75
    assert read["pixels-cnn"] > 0.8
    assert found.gate is not None
    assert not found.gate.passed
    text = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert "pixels-cnn" in [r["attacker"] for r in text["attributes"]["way"]["ladder"]]
    assert "pixels-cnn" in (tmp_path / "audit" / "report.html").read_text()


def test_networks_read_the_attributes_that_have_a_role(made: Dataset) -> None:
    other = np.random.default_rng(0).integers(0, 2, N).astype(str)
    data = made.with_column("other", pa.array(other.tolist()))
    release = Dataset.from_arrays(mirrored(made), name="mirrored")
    found = withhold.audit(data, release, same_order=True, **HOW)
    assert "pixels-cnn" in rungs(found)
    assert set(rungs(found, "other")) == {"prior", "logistic"}


def test_a_release_of_more_records_than_the_original_is_refused(made: Dataset) -> None:
    released = withhold.fit(made, "way", method="blur", key=key_of(0)).release(made)
    with pytest.raises(UserError, match="was not made from"):
        withhold.audit(made.rows(np.arange(100)), released, **HOW)
