"""Media for tests: small files of every kind, and extractors that show what a run does to them."""

from __future__ import annotations

import threading
import wave
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.media.extractors.extractor import Extractor, ExtractorConfig
from withhold.records.readers import Samples
from withhold.records.samples import BadMedia, Clip, Picture, Sample, Sound

FloatArray = npt.NDArray[np.float32]
RATE = 8000


def write_wav(path: Path, samples: npt.ArrayLike, rate: int = RATE) -> Path:
    """A 16-bit mono file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = np.rint(np.asarray(samples) * 32767).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(values.tobytes())
    return path


def constant(value: float, n: int = 40) -> FloatArray:
    return np.full(n, value, np.float32)


def write_png(path: Path, pixels: npt.NDArray[np.uint8] | int) -> Path:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(pixels, int):
        pixels = np.full((6, 5, 3), pixels, np.uint8)
    Image.fromarray(pixels).save(path, "PNG")
    return path


def sounds(n: int) -> Samples:
    """n sounds of 40 samples; number i is (i + 1) / 1000 throughout and has the label `n` i."""
    some = [Sound(constant((i + 1) / 1000), RATE) for i in range(n)]
    return Samples(some, pa.table({"n": np.arange(n)}), "sound")


def videos(n: int, frames: int = 40) -> Samples:
    """n clips of 4 x 4 pixels; frame j of number i is i in red and j in green."""
    some = []
    for i in range(n):
        pixels = np.zeros((frames, 4, 4, 3), np.uint8)
        pixels[..., 0] = i
        pixels[..., 1] = np.arange(frames)[:, None, None]
        some.append(Clip(pixels))
    return Samples(some, pa.table({"n": np.arange(n)}), "clip")


class MeanConfig(ExtractorConfig):
    """What the mean is multiplied with."""

    gain: float = 1.0


class Mean(Extractor):
    """Mean and largest sample, and how long; refuses sound with a sample above 2."""

    name = "mean"
    kind = "sound"
    takes, source, licence = "sound", "none", "none"
    config_type = MeanConfig
    config: MeanConfig
    batch = 4

    def __init__(self, config: ExtractorConfig | None = None) -> None:
        super().__init__(config)
        self.prepared = self.most = self.alive = 0
        self._lock = threading.Lock()

    @property
    def dimension(self) -> int:
        return 3

    def prepare(self, sample: Sample) -> FloatArray:
        assert isinstance(sample, Sound)
        if sample.samples.max() > 2:
            raise BadMedia("it is too loud")
        with self._lock:
            self.prepared += 1
            self.alive += 1
            self.most = max(self.most, self.alive)
        return sample.samples

    def forward(self, prepared: Sequence[npt.NDArray[np.float32]]) -> FloatArray:
        with self._lock:
            self.alive -= len(prepared)
        rows = [(p.mean() * self.config.gain, p.max(), len(p)) for p in prepared]
        return np.asarray(rows, np.float32)


class Brightness(Extractor):
    """Mean of each colour: of a picture."""

    name = "brightness"
    kind = "image"
    takes, source, licence = "pictures", "none", "none"
    batch = 4

    @property
    def dimension(self) -> int:
        return 3

    def prepare(self, sample: Sample) -> FloatArray:
        assert isinstance(sample, Picture)
        return sample.pixels.mean(axis=(0, 1), dtype=np.float32)

    def forward(self, prepared: Sequence[npt.NDArray[np.float32]]) -> FloatArray:
        return np.stack(prepared)


class ClipBrightness(Brightness):
    """The same of a clip of 4 frames, every other."""

    name = "clip-brightness"
    kind = "clip"
    frames, step = 4, 2

    def prepare(self, sample: Sample) -> FloatArray:
        assert isinstance(sample, Clip)
        assert len(sample.frames) == self.frames
        return sample.frames.mean(axis=(0, 1, 2), dtype=np.float32)
