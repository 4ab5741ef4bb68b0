"""What every trained method on clips must keep. A new method's tests inherit it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import withhold
from contracts.trained_method import TrainedMethodContract
from support import key_of
from withhold.actions.release import ReleaseRequest, release_files
from withhold.bundle.bundle import load_bundle
from withhold.records.dataset import Dataset
from withhold.records.samples import Clip, Picture

CLIPS = 64


class ClipMethodContract(TrainedMethodContract):
    """Subclass it, name the method and its module; give settings that make it quick."""

    suppress: ClassVar[tuple[str, ...]] = ("secret", "other")
    content: ClassVar[str] = "frames"

    @staticmethod
    def clips() -> tuple[np.ndarray, dict[str, list[str]]]:
        """Noise; `secret` is a bright corner, `other` a red cast, `useful` the way of a bar."""
        rng = np.random.default_rng(0)
        frames = rng.integers(60, 120, (CLIPS, 4, 16, 16, 3)).astype(np.uint8)
        i = np.arange(CLIPS)
        secret, other, useful = i % 2, i // 2 % 2, i // 4 % 2
        frames[secret == 1, :, :6, :6] += 60
        frames[other == 1, :, :, :, 0] += 40
        for clip, way in zip(frames, useful, strict=True):
            for t in range(4):
                place = 2 + 3 * (t if way else 3 - t)
                clip[t, place : place + 2, 8:] += 60
        return frames, {
            "secret": [f"s{v}" for v in secret],
            "other": [f"o{v}" for v in other],
            "useful": [f"u{v}" for v in useful],
            "split": [("train", "train", "train", "val", "test")[v] for v in i % 5],
        }

    @classmethod
    def dataset(cls) -> Dataset:
        return Dataset.from_arrays(*cls.clips())

    @staticmethod
    def mean_frames(data: Any) -> np.ndarray:
        """The mean frame of each clip at every second pixel, as features."""
        frames = [item.content.frames.mean(axis=0)[::2, ::2] for item in data.media.items()]
        return np.stack(frames).reshape(len(frames), -1).astype(np.float32)

    @classmethod
    def some(cls) -> list[Clip]:
        return [Clip(f) for f in cls.clips()[0][:4]]

    def test_clips_and_images_keep_their_size_and_length(self) -> None:
        rng = np.random.default_rng(1)
        for shape in ((4, 16, 16), (1, 23, 40), (7, 9, 12)):
            clip = Clip(rng.integers(0, 256, (*shape, 3)).astype(np.uint8), 12.5)
            [made] = self.fitted().modifier.transform([clip])
            assert isinstance(made, Clip)
            assert (made.frames.shape, made.frames.dtype) == (clip.frames.shape, np.uint8)
            assert made.rate == 12.5
            assert (made.frames != clip.frames).any()
            [still] = self.fitted().modifier.transform([Picture(clip.frames[0])])
            assert isinstance(still, Picture)
            np.testing.assert_array_equal(still.pixels, made.frames[0])

    def test_what_becomes_of_a_frame_depends_on_it_alone(self) -> None:
        frames, _ = self.clips()
        modifier = self.fitted().modifier
        whole = modifier.transform([Clip(f) for f in frames[:8]])
        [alone] = modifier.transform([Clip(frames[5])])
        np.testing.assert_array_equal(alone.frames, whole[5].frames)
        [turned] = modifier.transform([Clip(frames[5][::-1])])
        np.testing.assert_array_equal(turned.frames[::-1], alone.frames)

    def test_the_estimator_transforms_arrays(self) -> None:
        frames, labels = self.clips()
        estimator = withhold.Suppressor(
            suppress=["secret", "other"],
            preserve=["useful"],
            method=self.method,
            config=self.config,
            key=key_of(0),
        )
        made = estimator.fit(frames, attributes=labels).transform(frames)
        assert (made.shape, made.dtype) == (frames.shape, np.uint8)
        expected = self.fitted().modifier.transform([Clip(frames[0])])
        np.testing.assert_array_equal(made[0], expected[0].frames)

    def test_killed_resumed_released_and_audited(self, tmp_path: Path) -> None:
        """The whole way, with a process that is killed in the middle of its training."""
        frames, labels = self.clips()
        clips = tmp_path / "clips.npz"
        np.savez(clips, X=frames, **{n: np.array(v) for n, v in labels.items()})
        bundle, whole = self.killed_and_resumed(tmp_path, clips)
        sheets = sorted(p.name for p in whole.with_suffix(".pictures").iterdir())
        assert sheets == [f"epoch-{n + 1:04d}.png" for n in range(self.config["epochs"])]

        out = tmp_path / "released.npz"
        _, written = release_files(ReleaseRequest(bundle=bundle, data=clips, output=out))
        assert (written.kind, written.records, written.skipped) == ("clip", CLIPS, ())
        with np.load(out) as released_file:
            assert released_file["X"].shape == frames.shape
            assert "secret" not in released_file

        data = self.dataset()
        released = load_bundle(bundle).release(data)
        assert {"secret", "other"} <= set(released.left_out)
        self.audited(data, released, self.mean_frames(data), self.mean_frames(released))
