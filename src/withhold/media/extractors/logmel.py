"""`logmel`: sound to a 1024-d feature vector, without weights.

x = n(((mean over the frames of a segment of log(M |STFT|^2 + e)) - mu) / sigma)

128 mel bands times 8 segments of equal share of the clip, log power, standardised with the
statistics of the training clips, then L2-normalised. The segments stretch with the clip, so the
feature describes the word at any speed; a 64 ms window resolves the harmonics of a voice.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field
from torch import Tensor

from withhold.learn.nets.device import core_count, threads
from withhold.media.decode.sounds import resampled
from withhold.media.extractors.extractor import (
    ExtractorConfig,
    FloatArray,
    Prepared,
    StandardisedExtractor,
)
from withhold.records.samples import Sample, Sound

IntArray = npt.NDArray[np.int64]
# Samples transformed at once. Their spectra fit in a core's cache, which doubles the speed.
_SAMPLES = 160_000


class LogMelConfig(ExtractorConfig):
    """The shape of the feature."""

    rate: int | None = Field(
        None, ge=1000, le=768_000, description="samples a second; None: the first clip's"
    )
    bands: int = Field(128, ge=1)
    segments: int = Field(8, ge=1)
    window_seconds: float = Field(0.064, gt=0, le=60)
    hop_seconds: float = Field(0.016, gt=0, le=60)


class LogMel(StandardisedExtractor):
    """The extractor; prepared: (t,) samples."""

    name = "logmel"
    kind = "sound"
    takes = "sound of any length, resampled to one rate"
    source = "none: no weights, statistics of the training clips"
    licence = "none needed"
    config_type = LogMelConfig
    config: LogMelConfig
    batch = 128

    @property
    def rate(self) -> int:
        """Samples a second."""
        if self.config.rate is None:
            raise RuntimeError("logmel does not know its rate: call suited() first")
        return self.config.rate

    @property
    def dimension(self) -> int:
        """Length of a feature vector."""
        return self.config.bands * self.config.segments

    def suited(self, sample: Sample) -> LogMel:
        """With the rate of the first clip, where none is set."""
        if self.config.rate is not None or not isinstance(sample, Sound):
            return self
        return LogMel(self.config.model_copy(update={"rate": sample.rate}))

    def least_deviation(self, deviation: FloatArray) -> float:
        """Less than digital silence varies."""
        return 1e-3

    def prepare(self, sample: Sample) -> Prepared:
        """The waveform at the extractor's rate, (t,)."""
        if not isinstance(sample, Sound):
            raise TypeError("logmel takes sound")
        return resampled(sample, self.rate).samples

    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        """Mean log mel power per segment, (b, d)."""
        lengths = np.fromiter((len(w) for w in prepared), np.int64, len(prepared))
        out = np.empty((len(prepared), self.dimension), np.float32)

        def fill(rows: IntArray) -> None:
            waves = np.zeros((len(rows), int(lengths[rows].max(initial=1))), np.float32)
            for wave, row in zip(waves, rows, strict=True):
                wave[: lengths[row]] = prepared[row]
            out[rows] = self.log_power(waves, lengths[rows])

        # One thread per batch instead of many threads on each: a batch fits in a core's cache.
        with threads(1), ThreadPoolExecutor(core_count()) as pool:
            for _ in pool.map(fill, _alike(lengths)):
                pass
        return out

    def log_power(self, waves: FloatArray, lengths: IntArray) -> FloatArray:
        """Mean log mel power per segment: (b, t) and lengths (b,) to (b, d)."""
        width, hop = len(self._window), self._hop
        # Zeros after a short clip, so that it fills one window.
        short = max(width - waves.shape[1], 0)
        signal = torch.nn.functional.pad(torch.from_numpy(waves), (0, short))
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
        edge = torch.arange(self.config.segments)
        low = edge * count // self.config.segments  # (b, segments)
        high = torch.maximum(low + 1, (edge + 1) * count // self.config.segments)
        frame = torch.arange(f)
        inside = (frame >= low[..., None]) & (frame < high[..., None])  # (b, segments, f)
        mean = (inside / (high - low)[..., None]) @ log
        out: FloatArray = mean.reshape(b, -1).numpy()
        return out

    @cached_property
    def _hop(self) -> int:
        return max(round(self.config.hop_seconds * self.rate), 1)

    @cached_property
    def _window(self) -> Tensor:
        return torch.hann_window(round(self.config.window_seconds * self.rate))

    @cached_property
    def _fft_size(self) -> int:
        # Twice the window, zero-padded: otherwise the lowest mel bands are narrower than a bin.
        return 1 << (2 * len(self._window) - 1).bit_length()

    @cached_property
    def _filters(self) -> Tensor:
        """Triangular mel filters, (bins, bands); mel(f) = 2595 log10(1 + f / 700)."""
        bins = np.linspace(0, self.rate / 2, self._fft_size // 2 + 1)
        top = 2595 * np.log10(1 + self.rate / 2 / 700)
        edges = 700 * (10 ** (np.linspace(0, top, self.config.bands + 2) / 2595) - 1)
        # No filter may fall between two bins.
        return torch.from_numpy(triangles(bins, edges, narrowest=bins[1]).astype(np.float32))

    @cached_property
    def _bands(self) -> list[tuple[int, int, Tensor]]:
        """The filters by 16, each with the range of bins it needs: most of the matrix is zero."""
        found = []
        for some in self._filters.split(16, dim=1):
            used = torch.nonzero(some.sum(dim=1)).reshape(-1)
            low, high = int(used[0]), int(used[-1]) + 1
            found.append((low, high, some[low:high].contiguous()))
        return found


def triangles(
    bins: npt.NDArray[np.float64], edges: npt.NDArray[np.float64], *, narrowest: float = 0.0
) -> npt.NDArray[np.float64]:
    """Filters (bins, bands) with peak 1 at each inner edge and 0 at its neighbours, all in Hz.

    Neither slope of a filter is narrower than `narrowest`.
    """
    peak, half = edges[1:-1], np.maximum(np.diff(edges), narrowest)
    up = (bins[:, None] - (peak - half[:-1])) / half[:-1]
    down = ((peak + half[1:]) - bins[:, None]) / half[1:]
    return np.maximum(np.minimum(up, down), 0)


def _alike(lengths: IntArray) -> list[IntArray]:
    """Clips in batches of like length, so that little is spent on padding; the longest first."""
    order = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        stop = start + max(_SAMPLES // max(int(lengths[order[start]]), 1), 1)
        batches.append(order[start:stop])
        start = stop
    return batches
