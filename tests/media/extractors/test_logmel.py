from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from contracts.extractor import ExtractorContract
from withhold.media.extract_features import extract
from withhold.media.extractors import logmel
from withhold.media.extractors.logmel import LogMel, LogMelConfig
from withhold.media.moments import Moments
from withhold.records.readers import Selection, open_media
from withhold.records.samples import BadMedia, Picture, Sound

RATE = 8000


def made(**settings):
    return LogMel(LogMelConfig(**{"rate": RATE, **settings}))


def fit(extractor, waves):
    """With the statistics of these waves."""
    moments = Moments(extractor.dimension)
    moments.add(extractor.forward(waves))
    return extractor.with_statistics(moments.mean, moments.deviation)


def features(extractor, waves):
    return extractor.finish(extractor.forward(waves))


def padded(waves):
    """All in one array with zeros behind, and their lengths."""
    lengths = np.array([len(w) for w in waves])
    out = np.zeros((len(waves), lengths.max()), np.float32)
    for row, wave in zip(out, waves, strict=True):
        row[: len(wave)] = wave
    return out, lengths


def tone(hertz, seconds=0.5, rate=RATE):
    return np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate).astype(np.float32)


def noise(lengths, seed=0):
    rng = np.random.default_rng(seed)
    return [0.1 * rng.standard_normal(n).astype(np.float32) for n in lengths]


class TestContract(ExtractorContract):
    @classmethod
    def make(cls):
        return fit(made(), noise(np.full(20, 4000), seed=9))

    @classmethod
    def samples(cls, n, seed):
        rates, lengths = (8000, 16000, 44100), (300, 5000, 2600, 9000)
        waves = noise([lengths[i % 4] for i in range(n)], seed=seed)
        return [Sound(w, rates[i % 3]) for i, w in enumerate(waves)]


@pytest.fixture(scope="module")
def clips():
    return noise(np.random.default_rng(1).integers(300, 8000, 60))


@pytest.fixture(scope="module")
def fitted(clips):
    return fit(made(), clips)


def plain(waves, lengths, extractor):
    """The definition, clip by clip and in double precision: x = log(M |STFT|^2 + e), averaged."""
    window = np.hanning(513)[:-1]
    filters = extractor._filters.numpy().astype(np.float64)
    out = []
    for wave, n in zip(waves, lengths, strict=True):
        signal = np.concatenate([wave[:n], np.zeros(max(512 - n, 0))]).astype(np.float64)
        starts = range(0, len(signal) - 511, 128)
        frames = np.stack([signal[s : s + 512] * window for s in starts])
        log = np.log(np.abs(np.fft.rfft(frames, 1024)) ** 2 @ filters + 1e-7)
        f = len(log)
        parts = [log[k * f // 8 : max((k + 1) * f // 8, k * f // 8 + 1)] for k in range(8)]
        out.append(np.concatenate([p.mean(axis=0) for p in parts]))
    return np.array(out)


# --- the feature ---


def test_the_definition(clips):
    waves, lengths = padded(clips[:20])
    found = made().log_power(waves, lengths)
    assert np.abs(found - plain(waves, lengths, made())).max() < 1e-4
    assert np.abs(made().forward(clips[:20]) - found).max() < 1e-5


def test_a_feature_is_1024_long_and_of_unit_length(clips, fitted):
    assert fitted.dimension == 1024
    x = features(fitted, clips)
    assert x.shape == (60, 1024)
    assert x.dtype == np.float32
    assert np.allclose(np.linalg.norm(x, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("hertz", [150, 440, 1000, 2500, 3800])
def test_a_pure_tone_lights_up_its_band(hertz):
    """Band k is centred at mel (k + 1) top / 129, with mel(f) = 2595 log10(1 + f / 700)."""
    waves = tone(hertz)[None]
    power = made().log_power(waves, np.array([waves.shape[1]])).reshape(8, 128)
    mel, top = (2595 * np.log10(1 + f / 700) for f in (hertz, RATE / 2))
    band = mel / (top / 129) - 1
    # Neighbours overlap, so the loudest is the nearest or the one beside it.
    assert np.abs(power.argmax(axis=1) - band).max() <= 1
    assert np.ptp(power.argmax(axis=1)) <= 1
    far = np.abs(np.arange(128) - band) > 12
    assert power.max() - power[:, far].max() > 6  # e^6 = 26 dB


def test_segments_follow_the_clip_whatever_its_speed():
    """Low for the first half, high for the second: in a long clip as in a short one."""
    for seconds in (0.4, 0.8, 1.6):
        wave = np.concatenate([tone(300, seconds / 2), tone(3000, seconds / 2)])[None]
        bands = made().log_power(wave, np.array([wave.shape[1]])).reshape(8, 128)
        loudest = bands.argmax(axis=1)
        assert (loudest[:3] < 40).all()
        assert (loudest[5:] > 90).all()


def test_every_filter_has_a_bin_and_every_bin_between_the_ends_a_filter():
    for rate in (8000, 16000, 44100):
        filters = made(rate=rate)._filters
        assert (filters.sum(dim=0) > 0).all()
        assert (filters[1:-1].sum(dim=1) > 0).all()
        assert filters.min() >= 0
        assert filters.max() <= 1


def test_the_banded_product_is_the_whole_product():
    extractor = made()
    power = torch.rand(7, extractor._filters.shape[0])
    parts = [power[:, low:high] @ some for low, high, some in extractor._bands]
    assert torch.allclose(torch.cat(parts, dim=1), power @ extractor._filters, rtol=1e-5)


# --- what must not matter ---


def test_neighbours_order_and_batches_do_not_matter(clips, fitted, monkeypatch):
    x = features(fitted, clips)
    order = np.random.default_rng(0).permutation(60)
    assert np.abs(features(fitted, [clips[i] for i in order]) - x[order]).max() < 1e-6
    alone = np.concatenate([features(fitted, [clip]) for clip in clips[:10]])
    assert np.abs(alone - x[:10]).max() < 1e-6
    monkeypatch.setattr(logmel, "_SAMPLES", 1)
    assert np.abs(features(fitted, clips) - x).max() < 1e-6


def test_zeros_behind_a_clip_do_not_matter():
    extractor = made()
    waves, lengths = padded(noise([100, 511, 512, 700, 5000]))
    longer = np.pad(waves, ((0, 0), (0, 3000)))
    one, two = extractor.log_power(waves, lengths), extractor.log_power(longer, lengths)
    assert np.abs(one - two).max() < 1e-5


def test_threads_are_given_back_and_do_not_matter(clips, fitted):
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        one = features(fitted, clips)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(features(fitted, clips), one)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("length", [1, 2, 127, 128, 511, 512, 513, 640, 1024])
def test_short_clips(length, fitted):
    x = features(fitted, noise([length]))
    assert np.isfinite(x).all()
    assert np.linalg.norm(x) == pytest.approx(1, abs=1e-5)
    if length < 640:  # one frame: every segment is that frame
        raw = made().forward(noise([length]))
        assert np.array_equal(raw[0, :128], raw[0, -128:])


def test_silence_is_finite(fitted):
    silent = [np.zeros(3000, np.float32)] * 3
    assert np.isfinite(features(fitted, silent)).all()
    assert np.isfinite(features(fit(made(), silent), noise([900]))).all()


def test_loudness_moves_every_band_alike():
    """Ten times louder is ln 100 more in every band that is above the floor e."""
    waves, lengths = padded(noise([4000]))
    one, ten = (made().log_power(np.float32(g) * waves, lengths) for g in (1, 10))
    assert np.allclose(ten - one, np.log(100), atol=1e-3)


# --- statistics ---


def test_training_features_are_standardised_before_they_are_normalised(clips, fitted):
    raw = made().forward(clips).astype(np.float64)
    z = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    wanted = z / np.linalg.norm(z, axis=1, keepdims=True)
    assert np.allclose(features(fitted, clips), wanted, atol=1e-4)
    assert (fitted.deviation >= 1e-3).all()
    assert made().lacks_statistics
    assert not fitted.lacks_statistics


def test_the_state_gives_the_same_bytes(clips, fitted):
    for one in (fitted, fit(made(bands=20, segments=3, window_seconds=0.032), clips)):
        again = LogMel.from_state(json.loads(json.dumps(one.state())))
        assert features(again, clips).tobytes() == features(one, clips).tobytes()
        assert again.config == one.config
    assert again.dimension == 60


# --- rates ---


def test_the_rate_is_that_of_the_first_clip_unless_it_is_set():
    first = Sound(tone(440, rate=16000), 16000)
    assert LogMel().suited(first).rate == 16000
    assert made().suited(first).rate == RATE
    with pytest.raises(RuntimeError, match=r"call suited\(\) first"):
        _ = LogMel().rate


@pytest.mark.parametrize("rate", [16000, 11025, 44100])
def test_the_rate_of_a_clip_hardly_matters(rate):
    """The same tone, sampled at another rate."""
    extractor = made()
    one, two = (extractor.prepare(Sound(tone(700, rate=r), r)) for r in (RATE, rate))
    assert abs(len(one) - len(two)) <= 1
    powers = extractor.forward([one, two]).reshape(2, 8, 128)[:, 1:-1]
    assert np.abs(np.diff(powers[:, :, powers[0, 3] > 0], axis=0)).max() < 0.2


def test_too_short_for_the_rate():
    with pytest.raises(BadMedia, match="too short"):
        made(rate=1000).prepare(Sound(np.ones(1, np.float32), 768_000))


def test_mistakes(clips):
    with pytest.raises(RuntimeError, match="no statistics"):
        made().finish(made().forward(clips[:2]))
    with pytest.raises(RuntimeError, match="no statistics"):
        made().state()
    with pytest.raises(TypeError, match="logmel takes sound"):
        made().prepare(Picture(np.zeros((2, 2, 3), np.uint8)))
    for odd in ({"rate": 10}, {"rate": 10**9}, {"bands": 0}, {"window_seconds": float("inf")}):
        with pytest.raises(ValidationError):
            made(**odd)


@pytest.mark.realdata
def test_digits_can_be_read_from_the_features(realdata):
    from sklearn.linear_model import LogisticRegression

    sounds = open_media(realdata / "audiomnist_takes00-39_8khz.parquet", "sound")
    table = sounds.labels()
    take, digit, speaker = (table[c].to_numpy() for c in ("take", "digit", "speaker"))
    some = np.flatnonzero(
        np.isin(take, [0, 1, 2, 3, 4]) & np.isin(speaker, np.unique(speaker)[::5])
    )
    assert len(some) == 600
    train = take[some] < 4
    x = extract(Selection(sounds, some), extractor="logmel", test="take>=4").x
    model = LogisticRegression(C=10, max_iter=500).fit(x[train], digit[some][train])
    assert model.score(x[~train], digit[some][~train]) >= 0.9
