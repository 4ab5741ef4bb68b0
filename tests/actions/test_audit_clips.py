"""An audit of clips attacks their frames and their motion beside their features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import withhold
from audit.attackers.test_clip_cnn import FRAMES, STACK
from audit.moving import bar_clips, drifting
from audit.pictures import parts
from media_support import ClipBrightness
from support import key_of
from withhold import Dataset
from withhold.audit.attackers import Logistic, PixelCnn, Prior
from withhold.core.errors import UserError
from withhold.media.extractors import extractor_registry

N = 150
LADDER = (Prior(), Logistic(), replace(FRAMES, images=3_000))
BRIEF = replace(FRAMES, images=300, least_epochs=1)
HOW: dict[str, Any] = {
    "suppress": "way",
    "extractor": "clip-brightness",
    "pixels": 16,
    "attackers": LADDER,
    "workers": 1,
    "quick": True,
}


@pytest.fixture(autouse=True)
def _brightness(monkeypatch: pytest.MonkeyPatch) -> None:
    """An extractor that sees the mean colour of a clip, and so nothing of its content."""
    known = extractor_registry.extractor_type

    def found(name: str) -> Any:
        return ClipBrightness if name == "clip-brightness" else known(name)

    monkeypatch.setattr(extractor_registry, "extractor_type", found)


def made(draw: Any) -> Dataset:
    clips, way = draw(N)
    return Dataset.from_arrays(
        clips, {"way": np.array(["one", "other"])[way], "split": parts(N)}, name="clips"
    )


def rungs(found: Any, name: str = "way") -> dict[str, float]:
    return {r.attacker: r.accuracy for r in found.attributes[name].ladder if r.skipped is None}


def turned(data: Dataset) -> np.ndarray:
    """Upside down: features stay as they are."""
    assert data.media is not None
    return np.stack([item.content.frames[:, ::-1] for item in data.media.items()])  # type: ignore[union-attr]


def test_features_that_say_nothing_do_not_hide_what_frames_say() -> None:
    data = made(bar_clips)
    found = withhold.audit(data, Dataset.from_arrays(turned(data)), same_order=True, **HOW)
    read = rungs(found)
    assert read["logistic"] < 0.7
    assert read["frames-cnn"] > 0.9
    way = found.attributes["way"]
    assert way.informed.accuracy > 0.9
    assert way.original.attacker == "frames-cnn"
    assert way.ignorant is not None
    assert way.ignorant.accuracy > 0.9  # a bar upside down has the same direction
    assert found.settings["pixels"] == 16
    assert any("16 frames of each, reduced to 16 x 16" in n for n in found.notes)
    without = withhold.audit(
        data,
        Dataset.from_arrays(turned(data)),
        same_order=True,
        **HOW | {"pixels": 0, "attackers": None},
    )
    assert not any("frames" in name or "clips" in name for name in rungs(without))
    assert without.attributes["way"].informed.accuracy < 0.7


def test_motion_is_found_where_frames_and_features_say_nothing() -> None:
    data = made(drifting)
    release = withhold.fit(data, "way", method="pixelate", config={"blocks": 8}, key=key_of(0))
    found = withhold.audit(
        data, release.release(data), **HOW | {"attackers": (*LADDER[:2], BRIEF, STACK)}
    )
    read = rungs(found)
    assert max(read["logistic"], read["frames-cnn"]) < 0.75
    assert read["clips-stack"] > 0.85
    assert found.attributes["way"].informed.accuracy > 0.85


@pytest.mark.slow
def test_a_full_audit_starts_from_models_of_the_originals_and_reverses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from withhold.audit import reverse_attack
    from withhold.audit.reversal import Reversal

    brief = Reversal(width=8, images=1_000, batch=16)
    monkeypatch.setattr(reverse_attack, "Reversal", lambda: brief)
    data = made(bar_clips)
    release = Dataset.from_arrays(255 - turned(data))
    how = HOW | {"quick": False}
    read = rungs(withhold.audit(data, release, same_order=True, **how))
    assert {"frames-cnn", "frames-cnn-warm", "reverse", "reverse-warm"} <= set(read)
    assert min(read[n] for n in ("frames-cnn", "frames-cnn-warm", "reverse-warm")) > 0.85


def test_networks_read_the_attributes_that_have_a_role_and_the_others_say_so() -> None:
    other = np.random.default_rng(0).integers(0, 2, N).astype(str)
    data = made(bar_clips).with_column("other", pa.array(other.tolist()))
    release = Dataset.from_arrays(turned(data))
    brief = (Prior(), Logistic(), BRIEF)
    found = withhold.audit(data, release, same_order=True, **HOW | {"attackers": brief})
    assert "frames-cnn" in rungs(found)
    declined = {r.attacker: r.skipped for r in found.attributes["other"].ladder if r.skipped}
    assert "suppressed and preserved" in str(declined["frames-cnn"])


def test_an_attacker_of_images_is_refused_for_clips() -> None:
    data = made(bar_clips)
    with pytest.raises(UserError, match=r"attacker 'pixels-cnn' needs images.*records are clips"):
        withhold.audit(data, **HOW | {"attackers": (Prior(), PixelCnn())})
