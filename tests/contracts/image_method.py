"""What every trained method on images must keep. A new method's tests inherit it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
from PIL import Image

import withhold
from contracts.trained_method import TrainedMethodContract
from withhold.actions.release import ReleaseRequest, release_files
from withhold.actions.request import Opening
from withhold.bundle.bundle import load_bundle
from withhold.records.dataset import Dataset
from withhold.records.samples import Picture

NAMES = "{secret}_{useful}_*.png"


class ImageMethodContract(TrainedMethodContract):
    """Subclass it, name the method and its module; give settings that make it quick."""

    suppress: ClassVar[tuple[str, ...]] = ("secret",)
    content: ClassVar[str] = "pixels"

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
    def some(cls) -> list[Picture]:
        return [Picture(p) for p in cls.pixels()[0][:8]]

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

    def test_killed_resumed_released_and_audited(self, tmp_path: Path) -> None:
        """The whole way, with a process that is killed in the middle of its training."""
        faces = self.folder(tmp_path / "faces")
        bundle, _ = self.killed_and_resumed(tmp_path, faces, opening=Opening(pattern=NAMES))
        out = tmp_path / "released"
        _, written = release_files(ReleaseRequest(bundle=bundle, data=faces, output=out))
        assert (written.kind, written.records, written.skipped) == ("image", 96, ())
        for path in out.glob("*.png"):
            with Image.open(path) as image:
                assert image.size == (16, 16)

        data = Dataset.read(faces, pattern=NAMES)
        released = load_bundle(bundle).release(data)
        assert "secret" in released.left_out
        before, after = (
            withhold.extract(d.media, extractor="pixels", settings={"side": 8}).x
            for d in (data, released)
        )
        self.audited(data, released, before, after)
