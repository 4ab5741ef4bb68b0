"""What every trained method on images must keep. A new method's tests inherit it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image

import withhold
from release_support import below
from support import Interrupted, Recorder, key_of
from withhold.actions.fit import FitRequest, fit_bundle, fit_to
from withhold.actions.release import ReleaseRequest, release_files
from withhold.actions.request import Opening
from withhold.bundle.bundle import Bundle, load_bundle, save_bundle
from withhold.methods import get_method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.records.samples import Picture

TESTS = Path(__file__).parents[1]


class ImageMethodContract:
    """Subclass it, name the method and its module; give settings that make it quick."""

    method: ClassVar[str]
    module: ClassVar[str]
    config: ClassVar[dict[str, Any]] = {}

    @staticmethod
    def pixels(n: int = 96) -> tuple[np.ndarray, dict[str, list[str]]]:
        """Noise, with a bright corner for one class of `secret` and a red cast for `useful`."""
        rng = np.random.default_rng(0)
        pixels = rng.integers(60, 120, (n, 16, 16, 3)).astype(np.uint8)
        secret, useful = np.arange(n) % 2, np.arange(n) // 2 % 2
        pixels[secret == 1, :6, :6] += 100
        pixels[useful == 1, :, :, 0] += 60
        return pixels, {
            "secret": [f"s{v}" for v in secret],
            "useful": [f"u{v}" for v in useful],
        }

    @classmethod
    def dataset(cls) -> Dataset:
        return Dataset.from_arrays(*cls.pixels())

    @classmethod
    def folder(cls, place: Path) -> Path:
        """The same images as files, whose names hold their labels."""
        pixels, labels = cls.pixels()
        place.mkdir()
        for i, image in enumerate(pixels):
            name = f"{labels['secret'][i]}_{labels['useful'][i]}_{i}.png"
            Image.fromarray(image).save(place / name)
        return place

    @classmethod
    def fit(cls, progress: Any = None, journal: Any = None) -> Bundle:
        return fit_bundle(
            cls.dataset(),
            Roles.of("secret", "useful"),
            method=cls.method,
            config=cls.config,
            key=key_of(0),
            progress=progress,
            journal=journal,
        )

    @classmethod
    @cache
    def fitted(cls) -> Bundle:
        return cls.fit()

    def test_images_stay_images_of_their_size(self) -> None:
        rng = np.random.default_rng(1)
        for size in ((16, 16), (23, 40)):
            face = Picture(rng.integers(0, 256, (*size, 3)).astype(np.uint8))
            [made] = self.fitted().modifier.transform([face])
            assert isinstance(made, Picture)
            assert (made.pixels.shape, made.pixels.dtype) == (face.pixels.shape, np.uint8)
            assert (made.pixels != face.pixels).any()

    def test_what_becomes_of_an_image_depends_on_it_alone(self) -> None:
        pixels, _ = self.pixels()
        modifier = self.fitted().modifier
        whole = modifier.transform([Picture(p) for p in pixels])
        for place in (0, 5, 95):
            [alone] = modifier.transform([Picture(pixels[place])])
            np.testing.assert_array_equal(alone.pixels, whole[place].pixels)

    def test_the_same_seed_and_key_give_the_same_bundle(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            save_bundle(self.fit(), tmp_path / name)
        assert below(tmp_path / "one") == below(tmp_path / "two")

    def test_a_loaded_bundle_does_the_same(self, tmp_path: Path) -> None:
        save_bundle(self.fitted(), tmp_path / "bundle")
        loaded = load_bundle(tmp_path / "bundle")
        assert isinstance(loaded.modifier, get_method(self.method).modifier_type)
        some = [Picture(p) for p in self.pixels()[0][:8]]
        for one, two in zip(
            self.fitted().modifier.transform(some), loaded.modifier.transform(some), strict=True
        ):
            np.testing.assert_array_equal(one.pixels, two.pixels)

    def test_a_fit_that_was_cut_ends_in_the_same_bytes(self, tmp_path: Path) -> None:
        save_bundle(self.fit(), tmp_path / "whole")
        journal = withhold.methods.Journal(tmp_path / "work")
        with pytest.raises(Interrupted):
            self.fit(Recorder(stop_in=self.method, after=2), journal)
        journal = withhold.methods.Journal(tmp_path / "work")
        save_bundle(self.fit(journal=journal), tmp_path / "resumed")
        assert below(tmp_path / "resumed") == below(tmp_path / "whole")

    def test_killed_resumed_released_and_audited(self, tmp_path: Path) -> None:
        """The whole way, with a process that is killed in the middle of its training."""
        faces = self.folder(tmp_path / "faces")
        (tmp_path / "key").write_bytes(key_of(0))
        (tmp_path / "key").chmod(0o600)
        request = FitRequest(
            data=faces,
            output=tmp_path / "bundle",
            suppress=("secret",),
            preserve=("useful",),
            method=self.method,
            config=self.config,
            opening=Opening(pattern="{secret}_{useful}_*.png"),
            key=tmp_path / "key",
        )
        fit_to(request.model_copy(update={"output": tmp_path / "whole"}))
        script = (
            "import os, signal, sys; sys.path.insert(0, sys.argv[1])\n"
            "import importlib; importlib.import_module(sys.argv[2])\n"
            "from support import Interrupted, Recorder\n"
            "from withhold.actions.fit import FitRequest, fit_to\n"
            "request = FitRequest.model_validate_json(sys.argv[3])\n"
            "try: fit_to(request, Recorder(stop_in=sys.argv[4], after=2))\n"
            "except Interrupted: os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        arguments = [str(TESTS), self.module, request.model_dump_json(), self.method]
        killed = subprocess.run(
            [sys.executable, "-c", script, *arguments], check=False, env={**os.environ}
        )
        assert killed.returncode == -signal.SIGKILL
        assert (tmp_path / "bundle.partial").exists()
        assert not (tmp_path / "bundle").exists()
        said = Recorder()
        fit_to(request, said)
        assert "resuming from" in said.text
        assert below(tmp_path / "bundle") == below(tmp_path / "whole")

        out = tmp_path / "released"
        _, written = release_files(
            ReleaseRequest(bundle=tmp_path / "bundle", data=faces, output=out)
        )
        assert (written.kind, written.records, written.skipped) == ("image", 96, ())
        for path in out.glob("*.png"):
            with Image.open(path) as image:
                assert image.size == (16, 16)

        data = Dataset.read(faces, pattern="{secret}_{useful}_*.png")
        released = load_bundle(tmp_path / "bundle").release(data)
        assert "secret" in released.left_out
        pixels = [
            withhold.extract(d.media, extractor="pixels", settings={"side": 8})
            for d in (data, released)
        ]
        found = withhold.audit(
            pixels[0].x[released.original_rows],
            pixels[1].x,
            "secret",
            attributes=data.table.take(released.original_rows).select(["secret"]),
            same_order=True,
            quick=True,
        )
        assert 0 <= found.attributes["secret"].informed.accuracy <= 1
