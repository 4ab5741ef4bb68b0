"""A small source-filter speech synthesiser: ten digit-like words as targets, rendered to waveforms.

Speech is a source (glottal pulses, breath) through a filter (the resonances of the vocal tract),
plus the hiss of fricatives and bursts, which comes from a constriction and has its own filter:

    y = sum over frames j of  IFFT[ v_j E_j / A_j  +  n_j W_j / C_j ]        (overlap-add)

with E and W the windowed source and white noise, A the product of four resonators (Klatt 1980,
section II) and the glottal tilt, C one broad resonator, v and n the strengths in that frame.
Filtering in the frequency domain lets every take of a word be rendered at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import fft
from scipy.ndimage import convolve1d

Array = npt.NDArray[np.float64]
Spectra = npt.NDArray[np.complex64]

HOP_SECONDS = 0.008  # short enough for a plosive's burst, long enough to hold a pitch period
BANDWIDTHS = np.array([70.0, 100.0, 150.0, 230.0])  # Hz, F1..F4
FOURTH = 3450.0  # Hz; the fourth formant depends little on the word and much on the tract


@dataclass(frozen=True)
class Phone:
    """One segment of a word: the targets of its articulation, in Hz for a 17.5 cm tract."""

    ms: float
    formants: tuple[float, float, float]
    voice: float = 1.0
    noise: float = 0.0
    centre: float = 2500.0
    width: float = 1500.0

    @property
    def vowel(self) -> bool:
        """Whether an accent changes its length."""
        return self.voice == 1.0


# Vowels of men from Peterson and Barney (1952); a lower-case name is the silence before a burst.
PHONES: dict[str, Phone] = {
    "IY": Phone(130, (280, 2250, 2950)),
    "IH": Phone(90, (400, 1950, 2550)),
    "EH": Phone(105, (540, 1800, 2480)),
    "AA": Phone(120, (730, 1120, 2440)),
    "AO": Phone(150, (570, 850, 2410)),
    "UW": Phone(170, (310, 900, 2240)),
    "AH": Phone(120, (640, 1200, 2390)),
    "OW": Phone(110, (500, 950, 2350)),
    "AX": Phone(60, (500, 1450, 2500)),
    "R": Phone(70, (420, 1250, 1620), voice=0.8),
    "W": Phone(70, (310, 660, 2200), voice=0.7),
    "N": Phone(80, (260, 1450, 2450), voice=0.45),
    "V": Phone(60, (260, 1100, 2250), voice=0.35, noise=0.06, centre=2600, width=2400),
    "Z": Phone(85, (260, 1600, 2500), voice=0.35, noise=0.30, centre=3550, width=700),
    "S": Phone(105, (320, 1600, 2550), voice=0.0, noise=0.50, centre=3600, width=650),
    "F": Phone(90, (320, 1150, 2250), voice=0.0, noise=0.12, centre=2400, width=2600),
    "TH": Phone(90, (320, 1400, 2500), voice=0.0, noise=0.10, centre=3000, width=1800),
    "t": Phone(55, (320, 1750, 2600), voice=0.0),
    "T": Phone(35, (320, 1750, 2600), voice=0.0, noise=0.55, centre=3300, width=900),
    "k": Phone(55, (320, 1900, 2300), voice=0.0),
    "K": Phone(30, (320, 1900, 2300), voice=0.0, noise=0.55, centre=1900, width=500),
}

WORDS: dict[str, tuple[str, ...]] = {
    "0": ("Z", "IH", "R", "OW", "UW"),
    "1": ("W", "AH", "N"),
    "2": ("t", "T", "UW"),
    "3": ("TH", "R", "IY"),
    "4": ("F", "AO", "R"),
    "5": ("F", "AA", "IH", "V"),
    "6": ("S", "IH", "k", "K", "S"),
    "7": ("S", "EH", "V", "AX", "N"),
    "8": ("EH", "IY", "t", "T"),
    "9": ("N", "AA", "IH", "N"),
}


@dataclass(frozen=True)
class Targets:
    """The targets of b takes of one word in each of its k segments, including rests."""

    seconds: Array  # (b, k)
    formants: Array  # (b, k, 4), Hz
    pitch: Array  # (b, k), Hz
    voice: Array  # (b, k), strength of the glottal source
    noise: Array  # (b, k), strength of the hiss
    centre: Array  # (b, k), Hz
    width: Array  # (b, k), Hz

    def lengths(self, rate: int) -> npt.NDArray[np.int64]:
        """Samples in each take, (b,)."""
        samples: npt.NDArray[np.int64] = np.rint(self.seconds.sum(axis=1) * rate).astype(np.int64)
        return samples


def render(
    targets: Targets, noise: list[Array], *, breath: float, tilt: float, rate: int
) -> list[Array]:
    """Waveforms of b takes by one speaker, of any loudness.

    noise: white noise of each take, at least ``targets.lengths(rate)`` long. It is an argument, so
    that a take does not depend on the others rendered with it.
    breath: share of the source's power that is aspiration. tilt: the glottal pole, in 0..1.
    """
    lengths = targets.lengths(rate)
    hop = round(HOP_SECONDS * rate)
    frames = int(lengths.max()) // hop + 2
    track = _Tracks(targets, frames=frames, hop=hop / rate)
    white = np.zeros((len(lengths), frames * hop))
    for row, length in enumerate(lengths):
        white[row, :length] = noise[row][:length]
    source = _glottis(np.repeat(track.smooth(targets.pitch, 9), hop, axis=1), white, breath, rate)

    poles = _all_pole(track.smooth(targets.formants, 9), tilt, rate)
    level = track.smooth(targets.voice, 5) * poles.sum(axis=-1)  # unit gain at 0 Hz, as Klatt's
    spectrum = _windows(source, hop) / _response(poles, hop)
    spectrum *= level.astype(np.float32)[..., None]
    pair = _resonator(targets.centre, targets.width, rate)
    # (1 - r^2) is near the inverse of the peak, so a narrow hiss is no louder than a broad one
    level = track.smooth(targets.noise * (1 - pair[..., 2]), 3)
    hiss = _windows(white, hop) / _response(pair, hop)[track.index]
    hiss *= level.astype(np.float32)[..., None]
    spectrum += hiss
    parts = fft.irfft(spectrum).reshape(len(lengths), frames, 4, hop)
    out = np.zeros((len(lengths), frames + 3, hop))
    for block in range(4):
        out[:, block : block + frames] += parts[:, :, block]
    flat = out.reshape(len(lengths), -1)[:, hop:]  # the first window is centred on sample 0
    return [flat[row, :length] for row, length in enumerate(lengths)]


class _Tracks:
    """Turns targets per segment into values per frame."""

    def __init__(self, targets: Targets, *, frames: int, hop: float) -> None:
        ends = np.cumsum(targets.seconds, axis=1)[:, None, :-1]
        stretch = (np.arange(frames)[None, :, None] * hop >= ends).sum(axis=-1)
        # (b, k, ...) to (b, frames, ...): each frame gets the value of its segment
        self.index = (np.arange(len(stretch))[:, None], stretch)

    def smooth(self, values: Array, taps: int) -> Array:
        """(b, k, ...) to (b, frames, ...) through a Hann window, since the tongue cannot jump."""
        weights = np.hanning(taps + 2)[1:-1]
        smoothed: Array = convolve1d(
            values[self.index], weights / weights.sum(), axis=1, mode="nearest"
        )
        return smoothed


def _glottis(pitch: Array, white: Array, breath: float, rate: int) -> Array:
    """Pulses at the pitch with shimmer, and breath that swells with each opening; (b, samples)."""
    step = pitch / rate
    phase = np.cumsum(step, axis=1)
    whole = np.floor(phase)
    row, at = np.nonzero(np.diff(whole, axis=1) > 0)
    at = at + 1
    late = (phase[row, at] - whole[row, at]) / step[row, at]  # in samples, in 0..1
    # the white noise at a pulse serves as the random part of its strength
    strength = (1 + 0.06 * white[row, at]) / np.sqrt(step[row, at])
    pulses = np.zeros_like(pitch)
    pulses[row, at] += strength * (1 - late)
    pulses[row, at - 1] += strength * late  # on two samples, otherwise the pitch is quantised
    bright = white.copy()
    bright[:, 1:] -= 0.9 * white[:, :-1]  # breath has less tilt than the pulses
    swell = 0.2 + 0.8 * np.abs(2 * (phase - whole) - 1)
    mixed: Array = np.sqrt(1 - breath) * pulses + np.sqrt(breath) * swell * bright
    return mixed


def _windows(signal: Array, hop: int) -> Spectra:
    """Spectra of windows centred on each frame, (b, frames * hop) to (b, frames, 2 * hop + 1).

    A window is two hops long, and overlapping windows sum to one. Two more hops leave room for the
    filter's ringing.
    """
    hann = np.sin(np.pi * (np.arange(2 * hop) + 0.5) / (2 * hop)) ** 2
    blocks = signal.reshape(len(signal), -1, hop)
    windows = np.zeros((*blocks.shape[:2], 4 * hop), dtype=np.float32)
    windows[:, 1:, :hop] = blocks[:, :-1] * hann[:hop]
    windows[:, :, hop : 2 * hop] = blocks * hann[hop:]
    spectra: Spectra = fft.rfft(windows)
    return spectra


def _response(poles: Array, hop: int) -> Spectra:
    """A(f) of the denominators (..., m), to divide the spectra of `_windows` by.

    Computed in double precision, since the sum cancels to 1e-10 near 0 Hz.
    """
    response: Spectra = fft.rfft(poles, 4 * hop).astype(np.complex64)
    return response


def _resonator(centre: Array, width: Array, rate: int) -> Array:
    """Denominator 1 - 2 r cos(theta) z^-1 + r^2 z^-2 of one resonance, (..., 3)."""
    radius = np.broadcast_to(np.exp(-np.pi * width / rate), centre.shape)
    angle = 2 * np.pi * np.minimum(centre, 0.48 * rate) / rate
    return np.stack([np.ones_like(centre), -2 * radius * np.cos(angle), radius**2], axis=-1)


def _all_pole(formants: Array, tilt: float, rate: int) -> Array:
    """Denominator of the whole tract and the glottal tilt, (..., 4) Hz to (..., 10)."""
    product = np.zeros((*formants.shape[:-1], 10))
    product[..., 0] = 1.0
    product[..., 1] = -tilt
    for pair in np.moveaxis(_resonator(formants, BANDWIDTHS, rate), -2, 0):
        shifted = product * pair[..., :1]
        shifted[..., 1:] += product[..., :-1] * pair[..., 1:2]
        shifted[..., 2:] += product[..., :-2] * pair[..., 2:]
        product = shifted
    return product
