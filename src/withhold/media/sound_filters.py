"""Sound filters that hide the voice: white noise, a masked stretch, the McAdams transform.

Each returns a Sound of the same length and rate. Random numbers are passed in, so that the caller
can derive them from a key.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError
from withhold.records.samples import FloatArray, Sound

Doubles = npt.NDArray[np.float64]
# Frames that the McAdams transform handles at once, to bound the memory of a long recording.
_FRAMES = 1024


def white_noise(
    sound: Sound,
    noise: FloatArray,
    *,
    zone: tuple[float, float] = (0.2, 0.8),
    snr: float | None = None,
) -> Sound:
    """Add noise between the shares `zone` of the sound; `noise` (t,) is standard normal.

    Without `snr` it is the NoiseAug of nlpaug with its defaults, which MaSS used (Table 6): the
    noise is the inverse Fourier transform of a normal *real* spectrum. Over a zone of N samples its
    deviation is 1 / sqrt(N), however loud the sound is; it is symmetric about the middle of the
    zone; and the last sample of an odd zone gets none.

    With `snr` the samples of `noise` are added as they are, scaled so that the power of the sound
    in the zone over that of the noise is `snr` in dB. Silence stays silent.
    """
    first, stop = _stretch(sound, zone)
    added = np.asarray(noise, np.float64)[: stop - first]
    if len(added) < stop - first:
        raise ValueError(f"noise has {len(added)} samples, {stop - first} are needed")
    out = sound.samples.astype(np.float32)
    if snr is None:
        even = (stop - first) // 2 * 2
        if even:
            out[first : first + even] += np.fft.irfft(added[: even // 2 + 1], even)
    elif stop > first:
        power = np.mean(np.square(sound.samples[first:stop], dtype=np.float64))
        drawn = max(float(np.mean(np.square(added))), 1e-30)
        out[first:stop] += added * np.sqrt(power / drawn * 10 ** (-snr / 10))
    return Sound(out, sound.rate)


def mask(
    sound: Sound, *, ratio: float = 0.5, start: float, noise: FloatArray | None = None
) -> Sound:
    """Replace one stretch of `ratio` of the sound by zeros, or by `noise` (t,) where given.

    `start` in [0, 1] is the place: 0 at the beginning, 1 at the end. nlpaug's MaskAug, which MaSS
    used (Table 6, ratio 0.5), puts standard normal noise there by default, not zeros.
    """
    if not 0 <= ratio <= 1:
        raise UserError(f"the ratio of a mask must be from 0 to 1, not {ratio}")
    total = len(sound.samples)
    length = round(ratio * total)
    first = min(int(start * (total - length + 1)), total - length)
    out = sound.samples.astype(np.float32)
    out[first : first + length] = 0 if noise is None else noise[:length]
    return Sound(out, sound.rate)


def mcadams(
    sound: Sound,
    coefficient: float = 0.8,
    *,
    order: int = 20,
    window: float = 0.02,
    hop: float = 0.01,
) -> Sound:
    """Move the formants: the baseline B2 of the VoicePrivacy challenge (Patino et al., 2021).

    Every frame of `window` seconds is split by linear prediction (Burg, as in B2) into a residual
    and an all-pole filter. Each pole r exp(±i angle) that is not real goes to
    r exp(±i angle^coefficient), the residual runs through the new filter, and the frames are
    overlapped and added under root-Hann windows. Angles are in radians, so for a coefficient below
    1 formants below rate / 2 pi Hz rise, and those above fall. A coefficient of 1 changes nothing.

    Two differences from B2: the ends are padded, whereas B2 drops the first and last frames; and
    the result keeps the peak of the sound, whereas B2 gives every file the peak 1.
    """
    if not 0 < hop <= window:
        raise UserError(f"the hop of mcadams ({hop} s) must be above 0 and at most its window")
    width, step = max(round(window * sound.rate), 2), max(round(hop * sound.rate), 1)
    step = min(step, width)
    total = len(sound.samples)
    if total == 0:
        return Sound(sound.samples.copy(), sound.rate)
    # Zeros at both ends, so that every sample is in equally many frames.
    count = -(-(total + width - step) // step)
    padded = np.zeros((count - 1) * step + width)
    padded[width - step : width - step + total] = sound.samples
    # Sampled between the points of a Hann window, it is never zero: a hop of a whole window works.
    taper = np.sin(np.pi * (np.arange(width) + 0.5) / width)
    share = taper**2
    out, weight = np.zeros_like(padded), np.zeros_like(padded)
    frames = np.lib.stride_tricks.sliding_window_view(padded, width)[::step]
    for start in range(0, count, _FRAMES):
        some = frames[start : start + _FRAMES] * taper
        moved = _moved(some, coefficient, min(order, width - 1)) * taper
        for i, frame in enumerate(moved, start):
            out[i * step : i * step + width] += frame
            weight[i * step : i * step + width] += share
    out = (out / weight)[width - step : width - step + total]
    before, after = np.abs(sound.samples).max(), np.abs(out).max()
    if after > 0:
        out *= before / after
    return Sound(out.astype(np.float32), sound.rate)


def linear_prediction(frames: Doubles, order: int) -> Doubles:
    """Burg's prediction-error filters of frames (f, n): (f, order + 1), first coefficient 1.

    Its poles never lie outside the unit circle. A silent frame gets 1, 0, 0, ...
    """
    filters = np.zeros((len(frames), order + 1))
    filters[:, 0] = 1
    forward, backward = frames[:, 1:], frames[:, :-1]
    for m in range(order):
        power = _products(forward, forward) + _products(backward, backward)
        cross = -2 * _products(forward, backward)
        # Where nothing is left to predict (or only what underflows), the reflection is 0.
        reflection = np.divide(cross, power, out=np.zeros_like(cross), where=power > 1e-200)
        reflection = reflection[:, None]
        filters[:, 1 : m + 2] += reflection * filters[:, m::-1]
        forward, backward = (
            (forward + reflection * backward)[:, 1:],
            (backward + reflection * forward)[:, :-1],
        )
    return filters


def _moved(frames: Doubles, coefficient: float, order: int) -> Doubles:
    """Frames (f, n) with the angles of their poles raised to the power of the coefficient."""
    from scipy.signal import lfilter  # here, since its import takes 0.8 s

    old = linear_prediction(frames, order)
    companion = np.zeros((len(frames), order, order))
    companion[:, 0] = -old[:, 1:]
    companion[:, range(1, order), range(order - 1)] = 1
    poles = np.linalg.eigvals(companion).astype(np.complex128)
    angle = np.angle(poles)
    moved = np.minimum(np.abs(angle) ** coefficient, np.pi) * np.sign(angle)
    poles = np.where(poles.imag == 0, poles, np.abs(poles) * np.exp(1j * moved))
    # The old filter gives the residual, and its division by the new one the moved frame.
    return np.stack(list(map(lfilter, old, _polynomial(poles), frames)))


def _polynomial(roots: npt.NDArray[np.complex128]) -> Doubles:
    """The monic polynomials with these roots, (f, p) to (f, p + 1); roots come in pairs.

    All frames at once: with `np.poly` on each frame, `mcadams` takes 1.35 times as long.
    """
    f, p = roots.shape
    found = np.zeros((f, p + 1), np.complex128)
    found[:, 0] = 1
    for k in range(p):
        found[:, 1 : k + 2] -= roots[:, k, None] * found[:, : k + 1]
    return found.real


def _products(one: Doubles, other: Doubles) -> Doubles:
    """Inner products of the rows, (f, n) and (f, n) to (f,)."""
    found: Doubles = np.einsum("fn,fn->f", one, other)
    return found


def _stretch(sound: Sound, zone: tuple[float, float]) -> tuple[int, int]:
    """The first sample of the zone, and the first one after it."""
    low, high = zone
    if not 0 <= low <= high <= 1:
        raise UserError(f"the zone of noise must be two shares from 0 to 1 in order, not {zone}")
    return int(len(sound.samples) * low), int(len(sound.samples) * high)
