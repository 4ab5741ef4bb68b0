from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from withhold.errors import UserError
from withhold.media.extractors import logmel
from withhold.media.extractors.logmel import LogMel
from withhold.media.sounds import Sounds, read_sounds

RATE = 8000


def tone(hertz, seconds=0.5, rate=RATE):
    return np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate).astype(np.float32)


def noise(lengths, seed=0):
    rng = np.random.default_rng(seed)
    waves = [0.1 * rng.standard_normal(n).astype(np.float32) for n in lengths]
    return Sounds.from_waveforms(waves, RATE)


@pytest.fixture(scope="module")
def clips():
    return noise(np.random.default_rng(1).integers(300, 8000, 60))


@pytest.fixture(scope="module")
def fitted(clips):
    return LogMel(RATE).fitted(clips)


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
    waves, lengths = clips.padded(np.arange(20))
    found = LogMel(RATE).log_power(waves, lengths)
    assert np.abs(found - plain(waves, lengths, LogMel(RATE))).max() < 1e-4


def test_a_feature_is_1024_long_and_of_unit_length(clips, fitted):
    assert fitted.dimension == 1024
    x = fitted.extract(clips)
    assert x.shape == (60, 1024)
    assert x.dtype == np.float32
    assert np.allclose(np.linalg.norm(x, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("hertz", [150, 440, 1000, 2500, 3800])
def test_a_pure_tone_lights_up_its_band(hertz):
    """Band k is centred at mel (k + 1) top / 129, with mel(f) = 2595 log10(1 + f / 700)."""
    waves = tone(hertz)[None]
    power = LogMel(RATE).log_power(waves, np.array([waves.shape[1]])).reshape(8, 128)
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
        bands = LogMel(RATE).log_power(wave, np.array([wave.shape[1]])).reshape(8, 128)
        loudest = bands.argmax(axis=1)
        assert (loudest[:3] < 40).all()
        assert (loudest[5:] > 90).all()


def test_every_filter_has_a_bin_and_every_bin_between_the_ends_a_filter():
    for rate in (8000, 16000, 44100):
        filters = LogMel(rate)._filters
        assert (filters.sum(dim=0) > 0).all()
        assert (filters[1:-1].sum(dim=1) > 0).all()
        assert filters.min() >= 0
        assert filters.max() <= 1


def test_the_banded_product_is_the_whole_product():
    extractor = LogMel(RATE)
    power = torch.rand(7, extractor._filters.shape[0])
    parts = [power[:, low:high] @ some for low, high, some in extractor._bands]
    assert torch.allclose(torch.cat(parts, dim=1), power @ extractor._filters, rtol=1e-5)


# --- what must not matter ---


def test_neighbours_order_and_batches_do_not_matter(clips, fitted, monkeypatch):
    x = fitted.extract(clips)
    order = np.random.default_rng(0).permutation(60)
    assert np.abs(fitted.extract(clips.rows(order)) - x[order]).max() < 1e-6
    alone = np.concatenate([fitted.extract(clips.rows(np.array([i]))) for i in range(10)])
    assert np.abs(alone - x[:10]).max() < 1e-6
    monkeypatch.setattr(logmel, "_SAMPLES", 1)
    assert np.abs(fitted.extract(clips) - x).max() < 1e-6


def test_zeros_behind_a_clip_do_not_matter():
    extractor = LogMel(RATE)
    waves, lengths = noise([100, 511, 512, 700, 5000]).padded(np.arange(5))
    padded = np.pad(waves, ((0, 0), (0, 3000)))
    one, two = extractor.log_power(waves, lengths), extractor.log_power(padded, lengths)
    assert np.abs(one - two).max() < 1e-5


def test_threads_are_given_back_and_do_not_matter(clips, fitted):
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        one = fitted.extract(clips)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(fitted.extract(clips), one)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("length", [1, 2, 127, 128, 511, 512, 513, 640, 1024])
def test_short_clips(length, fitted):
    x = fitted.extract(noise([length]))
    assert np.isfinite(x).all()
    assert np.linalg.norm(x) == pytest.approx(1, abs=1e-5)
    if length < 640:  # one frame: every segment is that frame
        raw = LogMel(RATE).log_power(*noise([length]).padded(np.array([0])))
        assert np.array_equal(raw[0, :128], raw[0, -128:])


def test_silence_is_finite(fitted):
    silent = Sounds.from_waveforms([np.zeros(3000, np.float32)] * 3, RATE)
    assert np.isfinite(fitted.extract(silent)).all()
    assert np.isfinite(LogMel(RATE).fitted(silent).extract(noise([900]))).all()


def test_loudness_moves_every_band_alike():
    """Ten times louder is ln 100 more in every band that is above the floor e."""
    waves, lengths = noise([4000]).padded(np.array([0]))
    one, ten = (LogMel(RATE).log_power(np.float32(g) * waves, lengths) for g in (1, 10))
    assert np.allclose(ten - one, np.log(100), atol=1e-3)


# --- statistics ---


def test_statistics_come_from_train_alone(clips):
    train = np.arange(60) < 40
    fitted, x = LogMel(RATE).fit_extract(clips, train)
    apart = LogMel(RATE).fitted(clips.rows(np.flatnonzero(train)))
    assert np.allclose(fitted.mean, apart.mean, atol=1e-4)
    assert np.allclose(fitted.deviation, apart.deviation, atol=1e-4)
    assert np.allclose(fitted.extract(clips), x, atol=1e-6)
    # Other clips in test: the same statistics.
    louder = [
        w * (1 if t else 50) for w, t in zip(clips.padded(np.arange(60))[0], train, strict=True)
    ]
    waves = [w[:n] for w, n in zip(louder, clips.lengths, strict=True)]
    again, _ = LogMel(RATE).fit_extract(Sounds.from_waveforms(waves, RATE), train)
    assert np.array_equal(again.mean, fitted.mean)
    assert not np.allclose(LogMel(RATE).fitted(clips).mean, fitted.mean, atol=1e-4)


def test_training_features_are_standardised_before_they_are_normalised(clips):
    raw = LogMel(RATE)._all(clips, None, "logmel")
    fitted, x = LogMel(RATE).fit_extract(clips)
    z = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    assert np.allclose(x, z / np.linalg.norm(z, axis=1, keepdims=True), atol=1e-4)
    assert (fitted.deviation >= 1e-3).all()


def test_the_state_gives_the_same_bytes(clips, fitted):
    again = LogMel.from_state(json.loads(json.dumps(fitted.state())))
    assert again.extract(clips).tobytes() == fitted.extract(clips).tobytes()
    other = LogMel(RATE, bands=20, segments=3, window_seconds=0.032).fitted(clips)
    back = LogMel.from_state(json.loads(json.dumps(other.state())))
    assert back.extract(clips).tobytes() == other.extract(clips).tobytes()
    assert back.dimension == 60


def test_mistakes(clips, fitted):
    fast = Sounds(clips.values, clips.offsets, 16000)
    with pytest.raises(UserError, match="16000 samples a second, logmel was made for 8000"):
        fitted.extract(fast)
    with pytest.raises(UserError, match="no clip is in split 'train'"):
        LogMel(RATE).fit_extract(clips, np.zeros(60, bool))
    with pytest.raises(RuntimeError, match="not fitted"):
        LogMel(RATE).extract(clips)
    with pytest.raises(RuntimeError, match="not fitted"):
        LogMel(RATE).state()


def test_progress_counts_every_clip(clips):
    from support import Recorder

    seen = Recorder()
    LogMel(RATE).fit_extract(clips, progress=seen)
    assert seen.steps == {"logmel": 60}


@pytest.mark.realdata
def test_digits_can_be_read_from_the_features(realdata):
    from sklearn.linear_model import LogisticRegression

    sounds, table = read_sounds(realdata / "audiomnist_takes00-39_8khz.parquet")
    take, digit, speaker = (table[c].to_numpy() for c in ("take", "digit", "speaker"))
    some = np.flatnonzero(
        np.isin(take, [0, 1, 2, 3, 4]) & np.isin(speaker, np.unique(speaker)[::5])
    )
    assert len(some) == 600
    train = take[some] < 4
    _, x = LogMel(RATE).fit_extract(sounds.rows(some), train)
    model = LogisticRegression(C=10, max_iter=500).fit(x[train], digit[some][train])
    assert model.score(x[~train], digit[some][~train]) >= 0.9
