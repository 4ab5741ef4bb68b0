"""`ge2e-speaker`: sound to a 256-d vector that tells voices apart.

    e_k = n(relu(W h_k + b)),  h_k: last state of a 3-layer LSTM over 160 mel frames
    x = n(mean over k of e_k)

The generalised end-to-end speaker encoder (Wan et al. 2018) with the weights of Resemblyzer and its
front end without librosa: 16 kHz, quiet sound raised to -30 dBFS, mel power (not log) of 25 ms
windows every 10 ms, partial utterances of 1.6 s that start every 0.77 s. A sound shorter than one
partial is zero-padded to it. Resemblyzer also removes long silences with a voice detector
(webrtcvad); that step is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from withhold.media.decode.sounds import resampled
from withhold.media.extractors.extractor import (
    Extractor,
    ExtractorConfig,
    FloatArray,
    Prepared,
    unit,
)
from withhold.media.extractors.logmel import triangles
from withhold.media.weights import PackageFile, load_into
from withhold.records.samples import Sample, Sound

_RATE, _WINDOW, _HOP, _BANDS = 16_000, 400, 160, 40
_PARTIAL, _STEP = 160, 77  # frames of a partial utterance, and from one to the next (1.3 a second)
_COVERED = 0.75  # the last partial is left out if less than this share of it is sound
_QUIET = 10 ** (-30 / 20)  # root mean square to which quieter sound is raised
_MOST = 256  # partials that go through the network at once

_WEIGHTS = PackageFile(
    module="resemblyzer",
    path="pretrained.pt",
    sha256="39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e",
    install="resemblyzer==0.1.4",
    licence="Apache-2.0",
)


class SpeakerEncoder(nn.Module):
    """Mel frames (b, 160, 40) to unit vectors (b, 256); parameters are named as published."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(_BANDS, 256, 3, batch_first=True)
        self.linear = nn.Linear(256, 256)

    def forward(self, mel: Tensor) -> Tensor:
        """The last hidden state of the last layer, projected."""
        _, (hidden, _) = self.lstm(mel)
        return nn.functional.normalize(torch.relu(self.linear(hidden[-1])), dim=1)


class Ge2eSpeaker(Extractor):
    """The extractor; prepared: (partials, 160, 40)."""

    name = "ge2e-speaker"
    kind = "sound"
    takes = "sound at 16 kHz, all of it, in pieces of 1.6 seconds"
    source = "Resemblyzer 0.1.4, from the package index"
    licence = _WEIGHTS.licence
    dimension = 256

    def __init__(self, config: ExtractorConfig | None = None) -> None:
        super().__init__(config)
        self._network = SpeakerEncoder()
        # Ignored: scale and offset of the training loss, which no embedding needs.
        load_into(self._network, _WEIGHTS.locate(), ignore=("similarity_",))
        self._network.eval()
        self.fingerprint = _WEIGHTS.sha256

    def prepare(self, sample: Sample) -> Prepared:
        """Mel frames of every partial utterance."""
        assert isinstance(sample, Sound)
        wave = raised(resampled(sample, _RATE).samples)
        starts = partial_starts(len(wave))
        wave = np.pad(wave, (0, max((starts[-1] + _PARTIAL) * _HOP - len(wave), 0)))
        mel = mel_power(wave)
        return np.stack([mel[start : start + _PARTIAL] for start in starts])

    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        """The mean of the partials of each sound, of unit length."""
        partials = torch.from_numpy(np.concatenate(prepared))
        with torch.inference_mode():
            embedded = torch.cat([self._network(some) for some in partials.split(_MOST)]).numpy()
        ends = np.cumsum([len(p) for p in prepared])[:-1]
        return unit(np.stack([part.mean(axis=0) for part in np.split(embedded, ends)]))


def raised(wave: FloatArray) -> FloatArray:
    """Sound quieter than -30 dBFS raised to it; louder sound and digital silence stay."""
    loud = float(np.sqrt(np.mean(np.square(wave, dtype=np.float64))))
    return wave * np.float32(_QUIET / loud) if 0 < loud < _QUIET else wave


def partial_starts(samples: int) -> list[int]:
    """The first frames of the partial utterances of a sound of that many samples.

    >>> partial_starts(8_000), partial_starts(40_000)
    ([0], [0, 77])
    """
    frames = -(-(samples + 1) // _HOP)
    starts = list(range(0, max(1, frames - _PARTIAL + _STEP + 1), _STEP))
    if len(starts) > 1 and samples - starts[-1] * _HOP < _COVERED * _PARTIAL * _HOP:
        starts.pop()
    return starts


def mel_power(wave: FloatArray) -> FloatArray:
    """(t,) to (1 + t // 160, 40): mel power around every 10 ms, zeros beyond both ends."""
    spectrum = torch.stft(
        torch.from_numpy(wave),
        _WINDOW,
        _HOP,
        window=torch.hann_window(_WINDOW),
        pad_mode="constant",
        return_complex=True,
    )
    mel: FloatArray = spectrum.abs().square().T.numpy() @ mel_filters(_RATE, _WINDOW, _BANDS)
    return mel


@cache
def mel_filters(rate: int, window: int, bands: int) -> FloatArray:
    """Triangles of equal area on Slaney's mel scale, (window // 2 + 1, bands).

    `transformers.audio_utils.mel_filter_bank` gives the same (within 5e-10), but importing it takes
    2.3 s at every start.
    """
    bins = np.linspace(0, rate / 2, window // 2 + 1)
    edges = mel_frequencies(bands + 2, rate / 2)
    return (triangles(bins, edges) * 2 / (edges[2:] - edges[:-2])).astype(np.float32)


def mel_frequencies(count: int, top: float) -> npt.NDArray[np.float64]:
    """`count` frequencies from 0 to `top` Hz at equal steps of Slaney's mel scale.

    It is linear below 1,000 Hz (15 mel), and logarithmic above: 27 mel for a factor of 6.4.
    """
    step = np.log(6.4) / 27
    most = top * 3 / 200 if top < 1000 else 15 + np.log(top / 1000) / step
    mel = np.linspace(0, most, count)
    return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp(step * (mel - 15)))
