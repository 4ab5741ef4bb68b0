"""`logmel`: sound to a 1024-d feature vector, without weights.

x = n(((mean over the frames of a segment of log(M |STFT|^2 + e)) - mu) / sigma)

128 mel bands times 8 segments of equal share of the clip, log power, standardised with the
statistics of the training clips, then L2-normalised. Segments that stretch with the clip make the
feature a picture of the word, whatever its speed; a 64 ms window resolves the harmonics of a voice.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from withhold.errors import UserError
from withhold.media.sounds import Sounds
from withhold.nets.device import threads, threads_for
from withhold.progress import Progress, Silent

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
# Samples transformed at once: their spectra fit in a core's cache, which is half of the speed.
_SAMPLES = 160_000


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
        # Zeros behind a short clip so that it fills one window.
        short = max(len(self._window) - waves.shape[1], 0)
        signal = torch.nn.functional.pad(torch.from_numpy(waves), (0, short))
        out = np.empty((len(waves), self.dimension), np.float32)
        step = max(_SAMPLES // signal.shape[1], 1)
        for start in range(0, len(waves), step):
            some = slice(start, start + step)
            out[some] = self._log_power(signal[some], lengths[some])
        return out

    def _log_power(self, signal: Tensor, lengths: IntArray) -> FloatArray:
        """The same for a few clips at least a window long, all at once."""
        width, hop = len(self._window), self._hop
        pieces = signal.unfold(1, width, hop)  # (b, f, width)
        b, f = pieces.shape[:2]
        frames = torch.zeros(b, f, self._fft_size)
        torch.mul(pieces, self._window, out=frames[..., :width])
        spectrum = torch.fft.rfft(frames).reshape(b * f, -1)
        power = spectrum.real.square().addcmul_(spectrum.imag, spectrum.imag)
        mel = torch.cat([power[:, low:high] @ some for low, high, some in self._bands], dim=1)
        log = mel.add_(1e-7).log_().reshape(b, f, -1)
        # A segment is the mean of its share of the clip's own frames; a very short clip has fewer
        # frames than segments, and then neighbours share one.
        count = torch.from_numpy(np.maximum(lengths - width, 0) // hop + 1)[:, None]
        edge = torch.arange(self.segments)
        low = edge * count // self.segments  # (b, segments)
        high = torch.maximum(low + 1, (edge + 1) * count // self.segments)
        frame = torch.arange(f)
        inside = (frame >= low[..., None]) & (frame < high[..., None])  # (b, segments, f)
        mean = (inside / (high - low)[..., None]) @ log
        out: FloatArray = mean.reshape(b, -1).numpy()
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
        batches = _alike(sounds.lengths)

        def fill(rows: IntArray) -> int:
            out[rows] = self.log_power(*sounds.padded(rows))
            return len(rows)

        # One thread a batch, not many threads on each: a batch fits in a core's cache.
        workers = threads_for(math.inf)
        with (
            (progress or Silent()).stage(what, len(out)) as stage,
            threads(1),
            ThreadPoolExecutor(workers) as pool,
        ):
            for done in pool.map(fill, batches):
                stage.advance(done)
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

    @cached_property
    def _bands(self) -> list[tuple[int, int, Tensor]]:
        """The filters by 16, each with the range of bins it needs: most of the matrix is zero."""
        found = []
        for some in self._filters.split(16, dim=1):
            used = torch.nonzero(some.sum(dim=1)).reshape(-1)
            low, high = int(used[0]), int(used[-1]) + 1
            found.append((low, high, some[low:high].contiguous()))
        return found


def _alike(lengths: IntArray) -> list[IntArray]:
    """Clips in batches of like length, so that little is spent on padding; the longest first."""
    order = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        stop = start + max(_SAMPLES // max(int(lengths[order[start]]), 1), 1)
        batches.append(order[start:stop])
        start = stop
    return batches
