"""ge2e-speaker: the front end against formulas worked out by hand, the partials, the voices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.signal import ShortTimeFFT
from scipy.signal.windows import hann

from contracts.extractor import ExtractorContract
from withhold.media.extractors.ge2e import (
    Ge2eSpeaker,
    mel_filters,
    mel_frequencies,
    mel_power,
    partial_starts,
    raised,
)
from withhold.records.samples import Sample, Sound


def voice(seed: int, rate: int, seconds: float, pitch: float = 120.0) -> Sound:
    """Harmonics of a pitch under a random envelope: no voice, but more like one than noise."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(rate * seconds)) / rate
    wave = sum(
        rng.uniform(0.2, 1) / k * np.sin(2 * np.pi * pitch * k * t + rng.uniform(0, 6))
        for k in range(1, 20)
    )
    return Sound((0.1 * np.asarray(wave)).astype(np.float32), rate)


def voices(n: int, seed: int) -> list[Sample]:
    """Of several rates, lengths and pitches."""
    rates, lengths = (16_000, 8_000, 44_100), (0.3, 1.0, 2.7, 0.05)
    return [
        voice(100 * seed + i, rates[i % 3], lengths[i % 4], 90 + 25 * i + 7 * seed)
        for i in range(n)
    ]


class TestContract(ExtractorContract):
    @classmethod
    def make(cls) -> Ge2eSpeaker:
        return Ge2eSpeaker()

    @classmethod
    def samples(cls, n: int, seed: int) -> list[Sample]:
        return voices(n, seed)


def test_the_mel_scale_is_slaneys() -> None:
    # As librosa's documentation prints mel_frequencies(n_mels=40), up to 11,025 Hz.
    found = mel_frequencies(40, 11_025)
    known = {0: 0, 1: 85.317, 2: 170.635, 11: 938.49, 12: 1024.856, 13: 1119.114, 39: 11_025}
    for i, frequency in known.items():
        assert found[i] == pytest.approx(frequency, abs=1e-3)


def test_a_filter_is_a_triangle_of_area_one() -> None:
    filters = mel_filters(16_000, 400, 40)
    assert filters.shape == (201, 40)
    # By hand: 42 edges over 45.2455 mel, 15 + 27 log(8) / log(6.4) - so the first are 73.57 Hz
    # apart; bin 2 (80 Hz) lies 6.43 Hz behind the first peak.
    step = (15 + 27 * np.log(8) / np.log(6.4)) / 41 * 200 / 3
    assert step == pytest.approx(73.57, abs=0.01)
    assert filters[1, 0] == pytest.approx(40 / step / step, rel=1e-5)
    assert filters[2, 0] == pytest.approx((2 * step - 80) / step / step, rel=1e-5)
    assert filters[4, 0] == 0
    # Sampled finely enough, every triangle integrates to 1.
    fine = mel_filters(16_000, 40_000, 40)
    np.testing.assert_allclose(fine.sum(axis=0) * 16_000 / 40_000, 1, atol=1e-4)


def test_mel_power_is_that_of_another_short_time_transform() -> None:
    wave = np.random.default_rng(0).normal(size=3_200).astype(np.float32)
    window = hann(400, sym=False)
    other = ShortTimeFFT(window, hop=160, fs=16_000, fft_mode="onesided", scale_to=None)
    power = np.abs(other.stft(wave.astype(float), p0=0, p1=21, padding="zeros")) ** 2
    expected = power.T @ mel_filters(16_000, 400, 40)
    found = mel_power(wave)
    assert found.shape == (21, 40)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_quiet_sound_is_raised_and_nothing_else() -> None:
    wave = voice(0, 16_000, 1.0).samples
    quiet = raised(wave / 1000)
    assert np.sqrt(np.mean(quiet.astype(float) ** 2)) == pytest.approx(10**-1.5, rel=1e-5)
    np.testing.assert_array_equal(raised(wave), wave)
    np.testing.assert_array_equal(raised(np.zeros(5, np.float32)), np.zeros(5))


@pytest.mark.parametrize(
    ("samples", "starts"),
    [
        (1, [0]),
        (25_599, [0]),
        # The second partial begins at sample 12,320 and needs 19,200 of its 25,600.
        (31_519, [0]),
        (31_520, [0, 77]),
        (160_000, [0, 77, 154, 231, 308, 385, 462, 539, 616, 693, 770, 847]),
    ],
)
def test_partials_start_where_resemblyzer_starts_them(samples: int, starts: list[int]) -> None:
    assert partial_starts(samples) == starts


def test_a_short_sound_is_padded_to_one_partial() -> None:
    short = Sound(5 * voice(3, 16_000, 0.5).samples, 16_000)
    longer = Sound(np.pad(short.samples, (0, 25_600 - len(short.samples))), 16_000)
    prepared = Ge2eSpeaker().prepare(short)
    assert prepared.shape == (1, 160, 40)
    # Only the volume is measured on the sound itself; both are loud enough to stay.
    np.testing.assert_allclose(prepared, Ge2eSpeaker().prepare(longer), rtol=1e-5, atol=1e-9)


def test_a_long_sound_is_the_mean_of_its_partials() -> None:
    extractor = Ge2eSpeaker()
    prepared = extractor.prepare(voice(4, 16_000, 4.0))
    assert len(prepared) > 2
    each = np.concatenate([extractor.forward([p[None]]) for p in prepared])
    mean = each.mean(axis=0)
    np.testing.assert_allclose(
        extractor.forward([prepared])[0], mean / np.linalg.norm(mean), atol=1e-6
    )


def test_silence_has_features_too() -> None:
    extractor = Ge2eSpeaker()
    x = extractor.forward([extractor.prepare(Sound(np.zeros(8_000, np.float32), 8_000))])
    assert np.isfinite(x).all()


def test_weights_are_the_published_ones() -> None:
    x = Ge2eSpeaker().forward([np.zeros((1, 160, 40), np.float32)])
    assert np.linalg.norm(x) == pytest.approx(1, abs=1e-5)
    assert x.min() >= 0  # behind a rectifier
    assert 10 < (x > 0).sum() < 256


@pytest.mark.realdata
def test_voices_are_told_apart(realdata: Path) -> None:
    path = realdata / "audiomnist_takes00-39_8khz.parquet"
    table = pq.read_table(path, filters=[("take", "==", 0)]).to_pandas().sort_values("digit")
    waves, speakers = [], []
    for speaker, words in table.groupby("speaker"):
        for some in (words[words["digit"] < 5], words[words["digit"] >= 5]):
            y = np.frombuffer(b"".join(some["audio_mulaw_8khz"]), np.uint8) / 127.5 - 1
            waves.append((np.sign(y) * (256 ** np.abs(y) - 1) / 255).astype(np.float32))
            speakers.append(speaker)
    extractor = Ge2eSpeaker()
    x = extractor.forward([extractor.prepare(Sound(wave, 8_000)) for wave in waves])
    nearest = (x @ x.T - 2 * np.eye(len(x))).argmax(axis=1)
    # Other words of the same of 60 speakers; 1 of 119 by chance.
    assert np.mean(np.array(speakers)[nearest] == speakers) > 0.5
