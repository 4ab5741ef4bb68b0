"""Sound filters against known answers, and the McAdams transform against a plain one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.signal import lfilter

from withhold.core.errors import UserError
from withhold.media import sound_filters
from withhold.media.sound_filters import linear_prediction, mask, mcadams, white_noise
from withhold.records.samples import FloatArray, Sound

RATE = 8000
FORMANTS = np.array([700.0, 1200.0, 2600.0, 3300.0])
WIDTHS = np.array([60.0, 80.0, 120.0, 150.0])


def normal(samples: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).standard_normal(samples).astype(np.float32)


def speech(samples: int = 5200) -> Sound:
    """Something like a voice: noise through slowly changing loudness, with silence."""
    loud = np.maximum(np.sin(np.arange(samples) / 400), 0)
    return Sound((0.2 * loud * normal(samples)).astype(np.float32), RATE)


def vowel(seconds: float = 1.0) -> Sound:
    poles = np.exp((-np.pi * WIDTHS + 2j * np.pi * FORMANTS) / RATE)
    filter_ = np.poly(np.concatenate([poles, poles.conj()])).real
    samples = lfilter([1], filter_, normal(round(seconds * RATE)))
    return Sound((0.5 * samples / np.abs(samples).max()).astype(np.float32), RATE)


def formants(sound: Sound) -> npt.NDArray[np.float64]:
    """Of all its frames together, in Hz."""
    roots = np.roots(linear_prediction(sound.samples[None].astype(float), 8)[0])
    return np.sort(np.angle(roots[roots.imag > 0])) * sound.rate / (2 * np.pi)


class TestWhiteNoise:
    @pytest.mark.parametrize("samples", [1000, 1005])  # zones of 600 and 603 samples
    def test_it_is_the_noise_of_nlpaug(self, samples: int) -> None:
        """As nlpaug computes it: irfft of a real normal spectrum, one short where it is odd."""
        sound, noise = Sound(np.zeros(samples, np.float32), RATE), normal(samples)
        low, high = int(0.2 * samples), int(0.8 * samples)
        expected = np.zeros(samples)
        made = np.fft.irfft(noise[: (high - low) // 2 + 1].astype(float))
        expected[low : low + len(made)] = made
        assert high - low - len(made) == (high - low) % 2
        np.testing.assert_allclose(white_noise(sound, noise).samples, expected, atol=1e-7)

    def test_its_deviation_is_one_over_the_root_of_the_zone(self) -> None:
        silent = Sound(np.zeros(50_000, np.float32), RATE)
        added = white_noise(silent, normal(50_000)).samples
        assert added[10_000:40_000].std() == pytest.approx(30_000**-0.5, rel=0.02)
        assert not added[:10_000].any()
        assert not added[40_000:].any()

    @pytest.mark.parametrize("snr", [-10.0, 0.0, 20.0])
    def test_the_ratio_of_powers_is_the_one_asked_for(self, snr: float) -> None:
        sound = speech()
        added = white_noise(sound, normal(5200, 1), zone=(0.0, 1.0), snr=snr).samples
        added = added - sound.samples
        ratio = np.mean(sound.samples**2) / np.mean(added**2)
        assert 10 * np.log10(ratio) == pytest.approx(snr, abs=0.01)

    def test_silence_stays_silent_under_a_ratio(self) -> None:
        silent = Sound(np.zeros(100, np.float32), RATE)
        assert not white_noise(silent, normal(100), snr=0.0).samples.any()

    def test_too_little_noise_and_an_impossible_zone_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"noise has 10 samples, 60 are needed"):
            white_noise(Sound(normal(100), RATE), normal(10))
        with pytest.raises(UserError, match="zone"):
            white_noise(Sound(normal(100), RATE), normal(100), zone=(0.8, 0.2))


class TestMask:
    @pytest.mark.parametrize(
        ("start", "first"), [(0.0, 0), (0.5, 35), (0.999, 70), (1.0, 70)]
    )  # 30 of 100 samples: 71 places
    def test_one_stretch_is_zero_and_the_rest_stays(self, start: float, first: int) -> None:
        sound = Sound(normal(100), RATE)
        out = mask(sound, ratio=0.3, start=start).samples
        assert np.flatnonzero(out == 0).tolist() == list(range(first, first + 30))
        np.testing.assert_array_equal(out[out != 0], sound.samples[out != 0])

    def test_noise_may_take_its_place(self) -> None:
        sound, noise = Sound(normal(100), RATE), normal(100, 1)
        out = mask(sound, ratio=0.5, start=0.0, noise=noise).samples
        np.testing.assert_array_equal(out, np.concatenate([noise[:50], sound.samples[50:]]))

    def test_all_and_nothing(self) -> None:
        sound = Sound(normal(100), RATE)
        assert not mask(sound, ratio=1.0, start=0.7).samples.any()
        np.testing.assert_array_equal(mask(sound, ratio=0.0, start=1.0).samples, sound.samples)

    def test_more_than_all_is_refused(self) -> None:
        with pytest.raises(UserError, match="from 0 to 1"):
            mask(Sound(normal(100), RATE), ratio=1.5, start=0.0)


class TestLinearPrediction:
    def test_it_finds_the_filter_of_a_sound(self) -> None:
        np.testing.assert_allclose(formants(vowel(4.0)), FORMANTS, rtol=0.02)

    def test_its_poles_are_inside_the_circle(self) -> None:
        found = linear_prediction(normal(50 * 40).reshape(50, 40).astype(float), 20)
        assert max(np.abs(np.roots(a)).max() for a in found) < 1

    def test_silence_is_not_predicted(self) -> None:
        assert linear_prediction(np.zeros((1, 50)), 4).tolist() == [[1, 0, 0, 0, 0]]


class TestMcAdams:
    @pytest.mark.parametrize("rate", [8000, 11025, 22050, 48000])
    def test_a_coefficient_of_one_changes_nothing(self, rate: int) -> None:
        sound = Sound(speech().samples, rate)
        np.testing.assert_allclose(mcadams(sound, 1.0).samples, sound.samples, atol=1e-6)

    @pytest.mark.parametrize("coefficient", [0.8, 0.9, 1.1])
    def test_formants_move_as_their_angles_say(self, coefficient: float) -> None:
        angle = 2 * np.pi * FORMANTS / RATE
        expected = angle**coefficient * RATE / (2 * np.pi)
        out = mcadams(vowel(2.0), coefficient, order=8)
        np.testing.assert_allclose(formants(out)[:3], expected[:3], rtol=0.03)
        assert np.abs(expected / FORMANTS - 1)[2] > 0.04

    def test_it_is_what_a_plain_loop_over_frames_gives(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sound = speech(1999)
        expected = plain(sound.samples.astype(float), 0.8, 160, 80)
        np.testing.assert_allclose(mcadams(sound, 0.8).samples, expected, atol=1e-6)
        monkeypatch.setattr(sound_filters, "_FRAMES", 7)
        np.testing.assert_allclose(mcadams(sound, 0.8).samples, expected, atol=1e-6)

    @pytest.mark.parametrize(
        "samples",
        [
            np.zeros(3000),
            np.ones(3000),
            np.sin(np.arange(3000) / 3),
            np.eye(1, 3000, 1500)[0],
            1e-30 * normal(3000),
            np.where(np.arange(3000) % 2, 1.0, -1.0),
            normal(1),
            normal(7),
            normal(0),
        ],
        ids=["silence", "constant", "sine", "click", "faint", "fastest", "one", "short", "none"],
    )
    @pytest.mark.parametrize("coefficient", [0.5, 2.0])
    def test_whatever_comes_is_finite_as_long_and_no_louder(
        self, samples: npt.NDArray[np.float64], coefficient: float
    ) -> None:
        sound = Sound(samples.astype(np.float32), RATE)
        out = mcadams(sound, coefficient).samples
        assert out.shape == sound.samples.shape
        assert out.dtype == np.float32
        assert np.isfinite(out).all()
        assert np.abs(out).max(initial=0) <= np.abs(sound.samples).max(initial=0) * (1 + 1e-6)

    def test_a_very_low_rate_is_no_problem(self) -> None:
        assert len(mcadams(Sound(normal(500), 100), 0.8).samples) == 500

    def test_a_hop_longer_than_the_window_is_refused(self) -> None:
        with pytest.raises(UserError, match="hop"):
            mcadams(speech(), window=0.01, hop=0.02)


def plain(
    samples: npt.NDArray[np.float64], coefficient: float, width: int, step: int
) -> npt.NDArray[np.float64]:
    """The transform one frame at a time, with roots and filters of numpy and scipy."""
    padded = np.concatenate([np.zeros(step), samples, np.zeros(2 * width)])
    window = np.sin(np.pi * (np.arange(width) + 0.5) / width)
    out = np.zeros(len(padded))
    for start in range(0, len(padded) - width, step):
        frame = padded[start : start + width] * window
        if not frame.any():
            continue
        old = linear_prediction(frame[None], 20)[0]
        poles = np.roots(old)
        angle = np.abs(np.angle(poles)) ** coefficient * np.sign(poles.imag)
        moved = np.where(poles.imag == 0, poles, np.abs(poles) * np.exp(1j * angle))
        residual = lfilter(old, [1], frame)
        out[start : start + width] += window * lfilter([1], np.poly(moved).real, residual)
    out = out[step : step + len(samples)]
    return out * np.abs(samples).max() / np.abs(out).max()
