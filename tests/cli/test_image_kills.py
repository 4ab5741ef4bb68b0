"""Kill a fit of four convolutional networks at random moments: the same bytes in the end.

`WITHHOLD_KILLS=20` kills 20 times; without it, 4 times.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest

from withhold.bundle.bundle import load_bundle
from withhold.core.key_file import write_key

from .conftest import snapshot
from .killer import KILLS, Killer, tell

CONFIG = {
    "side": 16, "width": 4, "depth": 2, "reader_width": 4, "noise": 16, "batch": 8, "epochs": 12,
}  # fmt: skip
FIT = ("fit", "faces.npz", "--suppress", "gender", "--method", "replace", "--config", "nets.yaml",
       "--key", "owner.key", "-q", "-o")  # fmt: skip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL"),
]


class ImageKnife(Killer):
    known = frozenset(
        {"faces.npz", "nets.yaml", "owner.key", "whole"}
        | {"whole.pictures", "killed.pictures"}  # they show each epoch, also of a killed run
    )

    def check_output(self) -> None:
        load_bundle(self.output)


def test_fit_of_images(tmp_path: Path) -> None:
    ground = tmp_path / "ground"
    ground.mkdir()
    rng = np.random.default_rng(0)
    faces = rng.integers(0, 256, (80, 16, 16, 3), np.uint8)
    np.savez(ground / "faces.npz", x=faces, gender=rng.integers(0, 2, 80))
    (ground / "nets.yaml").write_text(json.dumps(CONFIG))
    write_key(ground / "owner.key", bytes(range(32)))
    whole = ImageKnife(ground, FIT, ground / "whole")
    seconds = whole.finish()
    aims = ("checkpoint", "bundle", "renamed")
    killer = ImageKnife(ground, FIT, ground / "killed", KILLS, seed=5, aims=aims)
    killer.run(seconds)
    assert snapshot(killer.output) == snapshot(whole.output)
    tell("fit of images", seconds, killer)
