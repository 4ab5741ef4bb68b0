"""`logmel`: sound to a 1024-d feature vector, without weights.

x = n(((mean over the frames of a segment of log(M |STFT|^2 + e)) - mu) / sigma)

128 mel bands times 8 segments of equal share of the clip, log power, standardised with the
statistics of the training clips, then L2-normalised. Segments that stretch with the clip make the
feature a picture of the word, whatever its speed; a 64 ms window resolves the harmonics of a voice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from withhold.errors import UserError
from withhold.media.sounds import Sounds
from withhold.progress import Progress, Silent

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LogMel:
    """The extractor; `mean` and `deviation` (d,) are None until `fitted`."""

    rate: int
    bands: int = 128
    segments: int = 8
    window_seconds: float = 0.064
    hop_seconds: float = 0.016
    mean: FloatArray | None = None
    deviation: FloatArray | None = None

    name = "logmel"
    kind = "sound"

    @property
    def dimension(self) -> int:
        """Length of a feature vector."""
        return self.bands * self.segments

    def fitted(self, sounds: Sounds, *, progress: Progress | None = None) -> LogMel:
        """The same extractor with the statistics of `sounds` (the training clips)."""
        raw = self._all(sounds, progress, "statistics of logmel")
        # A band that never moves (digital silence) must not be divided by nothing.
        deviation = np.maximum(raw.std(axis=0), 1e-3)
        return LogMel(
            self.rate,
            self.bands,
            self.segments,
            self.window_seconds,
            self.hop_seconds,
            raw.mean(axis=0),
            deviation,
        )

    def extract(self, sounds: Sounds, *, progress: Progress | None = None) -> FloatArray:
        """Features of every clip, (n, d), unit length."""
        return self.finish(self._all(sounds, progress, "logmel"))

    def fit_extract(
        self,
        sounds: Sounds,
        train: npt.NDArray[np.bool_] | None = None,
        *,
        progress: Progress | None = None,
    ) -> tuple[LogMel, FloatArray]:
        """Statistics from the clips where `train` is true, and features of all, in one pass."""
        raw = self._all(sounds, progress, "logmel")
        seen = raw if train is None else raw[train]
        if len(seen) == 0:
            raise UserError("no clip is in split 'train', so logmel cannot be standardised")
        fitted = LogMel(
            self.rate,
            self.bands,
            self.segments,
            self.window_seconds,
            self.hop_seconds,
            seen.mean(axis=0),
            np.maximum(seen.std(axis=0), 1e-3),
        )
        return fitted, fitted.finish(raw)

    def finish(self, raw: FloatArray) -> FloatArray:
        """Standardise and normalise log powers (n, d)."""
        if self.mean is None or self.deviation is None:
            raise RuntimeError("logmel is not fitted: call fitted() or fit_extract() first")
        x = (raw - self.mean) / self.deviation
        x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
        return x.astype(np.float32, copy=False)

    def log_power(self, waves: FloatArray, lengths: IntArray) -> FloatArray:
        """Mean log mel power per segment: (b, t) and lengths (b,) to (b, d)."""
        window, hop, size = self._window, self._hop, self._fft_size
        width = len(window)
        # Zeros behind a short clip so that it fills one window.
        short = max(width - waves.shape[1], 0)
        signal = torch.nn.functional.pad(torch.from_numpy(waves), (0, short))
        frames = signal.unfold(1, width, hop) * window  # (b, f, width)
        spectrum = torch.fft.rfft(frames, n=size)
        power = spectrum.real.square() + spectrum.imag.square()
        mel = torch.log(power @ self._filters + 1e-7)  # (b, f, bands)
        running = torch.nn.functional.pad(mel.cumsum(1), (0, 0, 1, 0))  # (b, f + 1, bands)
        count = torch.from_numpy(np.maximum(lengths - width, 0) // hop + 1)
        edge = torch.arange(self.segments)
        low = edge * count[:, None] // self.segments  # (b, segments)
        high = torch.maximum(low + 1, (edge + 1) * count[:, None] // self.segments)
        index = torch.arange(len(lengths))[:, None]
        mean = (running[index, high] - running[index, low]) / (high - low)[..., None]
        out: FloatArray = mean.reshape(len(lengths), -1).numpy()
        return out

    def state(self) -> dict[str, Any]:
        """What a file needs to extract later clips alike: settings and statistics, as JSON."""
        if self.mean is None or self.deviation is None:
            raise RuntimeError("logmel is not fitted")
        return {
            "name": self.name,
            "rate": self.rate,
            "bands": self.bands,
            "segments": self.segments,
            "window_seconds": self.window_seconds,
            "hop_seconds": self.hop_seconds,
            "mean": self.mean.tolist(),
            "deviation": self.deviation.tolist(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LogMel:
        """The extractor that `state` describes."""
        return cls(
            rate=state["rate"],
            bands=state["bands"],
            segments=state["segments"],
            window_seconds=state["window_seconds"],
            hop_seconds=state["hop_seconds"],
            mean=np.asarray(state["mean"], np.float32),
            deviation=np.asarray(state["deviation"], np.float32),
        )

    def _all(self, sounds: Sounds, progress: Progress | None, what: str) -> FloatArray:
        if sounds.rate != self.rate:
            raise UserError(
                f"the sound has {sounds.rate} samples a second, logmel was made for {self.rate}"
            )
        out = np.empty((len(sounds), self.dimension), np.float32)
        # Clips of like length share a batch, so that little is spent on padding.
        order = np.argsort(sounds.lengths, kind="stable")
        with (progress or Silent()).stage(what, len(order)) as stage:
            for start in range(0, len(order), 256):
                rows = order[start : start + 256]
                out[rows] = self.log_power(*sounds.padded(rows))
                stage.advance(len(rows))
        return out

    @cached_property
    def _hop(self) -> int:
        return max(round(self.hop_seconds * self.rate), 1)

    @cached_property
    def _window(self) -> Tensor:
        return torch.hann_window(round(self.window_seconds * self.rate))

    @cached_property
    def _fft_size(self) -> int:
        # Twice the window, zero-padded: the lowest mel bands are narrower than a bin otherwise.
        return 1 << (2 * len(self._window) - 1).bit_length()

    @cached_property
    def _filters(self) -> Tensor:
        """Triangular mel filters, (bins, bands); mel(f) = 2595 log10(1 + f / 700)."""
        bins = np.linspace(0, self.rate / 2, self._fft_size // 2 + 1)
        top = 2595 * np.log10(1 + self.rate / 2 / 700)
        edges = 700 * (10 ** (np.linspace(0, top, self.bands + 2) / 2595) - 1)
        # No filter may fall between two bins.
        half = np.maximum(np.diff(edges), bins[1])
        up = (bins[:, None] - (edges[1:-1] - half[:-1])) / half[:-1]
        down = ((edges[1:-1] + half[1:]) - bins[:, None]) / half[1:]
        return torch.from_numpy(np.maximum(np.minimum(up, down), 0).astype(np.float32))
