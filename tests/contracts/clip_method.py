"""What every trained method on clips must keep. A new method's tests inherit it."""

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

import withhold
from release_support import below
from support import Interrupted, Recorder, key_of
from withhold.actions.fit import FitRequest, fit_bundle, fit_to
from withhold.actions.release import ReleaseRequest, release_files
from withhold.bundle.bundle import Bundle, load_bundle, save_bundle
from withhold.methods import get_method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.records.samples import Clip, Picture

TESTS = Path(__file__).parents[1]
CLIPS = 40


class ClipMethodContract:
    """Subclass it, name the method and its module; give settings that make it quick."""

    method: ClassVar[str]
    module: ClassVar[str]
    config: ClassVar[dict[str, Any]] = {}

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
    def fit(cls, progress: Any = None, journal: Any = None) -> Bundle:
        return fit_bundle(
            cls.dataset(),
            Roles.of("secret,other", "useful"),
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

    def test_a_loaded_bundle_does_the_same(self, tmp_path: Path) -> None:
        save_bundle(self.fitted(), tmp_path / "bundle")
        loaded = load_bundle(tmp_path / "bundle")
        assert isinstance(loaded.modifier, get_method(self.method).modifier_type)
        some = [Clip(f) for f in self.clips()[0][:4]]
        for one, two in zip(
            self.fitted().modifier.transform(some), loaded.modifier.transform(some), strict=True
        ):
            np.testing.assert_array_equal(one.frames, two.frames)

    def test_a_fit_that_was_cut_ends_in_the_same_bytes(self, tmp_path: Path) -> None:
        save_bundle(self.fitted(), tmp_path / "whole")
        journal = withhold.methods.Journal(tmp_path / "work")
        with pytest.raises(Interrupted):
            self.fit(Recorder(stop_in=self.method, after=2), journal)
        journal = withhold.methods.Journal(tmp_path / "work")
        save_bundle(self.fit(journal=journal), tmp_path / "resumed")
        assert below(tmp_path / "resumed") == below(tmp_path / "whole")

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
        (tmp_path / "key").write_bytes(key_of(0))
        (tmp_path / "key").chmod(0o600)
        request = FitRequest(
            data=clips,
            output=tmp_path / "bundle",
            suppress=("secret", "other"),
            preserve=("useful",),
            method=self.method,
            config=self.config,
            key=tmp_path / "key",
        )
        fit_to(request.model_copy(update={"output": tmp_path / "whole"}))
        epochs = self.config["epochs"]
        sheets = sorted(p.name for p in (tmp_path / "whole.pictures").iterdir())
        assert sheets == [f"epoch-{n + 1:04d}.png" for n in range(epochs)]
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

        out = tmp_path / "released.npz"
        _, written = release_files(
            ReleaseRequest(bundle=tmp_path / "bundle", data=clips, output=out)
        )
        assert (written.kind, written.records, written.skipped) == ("clip", CLIPS, ())
        with np.load(out) as released_file:
            assert released_file["X"].shape == frames.shape
            assert "secret" not in released_file

        data = self.dataset()
        released = load_bundle(tmp_path / "bundle").release(data)
        assert {"secret", "other"} <= set(released.left_out)
        features = [self.mean_frames(d) for d in (data, released)]
        found = withhold.audit(
            features[0][released.original_rows],
            features[1],
            "secret",
            attributes=data.table.take(released.original_rows).select(["secret"]),
            same_order=True,
            quick=True,
        )
        assert 0 <= found.attributes["secret"].informed.accuracy <= 1
