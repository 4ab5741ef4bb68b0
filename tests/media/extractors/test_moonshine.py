"""moonshine: one clip at a time, so that nothing around a clip changes its features."""

from __future__ import annotations

import numpy as np
import pytest

from contracts.extractor import ExtractorContract
from withhold.media.extractors.moonshine import Moonshine
from withhold.records.samples import Sample, Sound


def noise(samples: int, seed: int, rate: int = 16_000) -> Sound:
    """Noise that swells and falls."""
    rng = np.random.default_rng(seed)
    swell = np.interp(np.arange(samples), np.linspace(0, samples, 9), rng.uniform(0, 0.3, 9))
    return Sound((rng.normal(size=samples) * swell).astype(np.float32), rate)


class TestContract(ExtractorContract):
    @classmethod
    def make(cls) -> Moonshine:
        return Moonshine()

    @classmethod
    def samples(cls, n: int, seed: int) -> list[Sample]:
        lengths, rates = (8_000, 16_000, 3_000, 700), (16_000, 8_000, 48_000)
        return [noise(lengths[i % 4], 100 * seed + i, rates[i % 3]) for i in range(n)]


def hidden(extractor: Moonshine, wave: np.ndarray) -> np.ndarray:
    given = {"input_values": wave[None], "attention_mask": np.ones((1, len(wave)), np.int64)}
    return np.asarray(extractor._session.run(None, given)[0][0])


def test_features_are_the_mean_over_time_of_unit_length() -> None:
    extractor = Moonshine()
    wave = noise(16_000, 1).samples
    steps = hidden(extractor, wave)
    assert steps.shape == (40, 288)
    x = extractor.forward([extractor.prepare(Sound(wave, 16_000))])[0]
    mean = steps.mean(axis=0)
    np.testing.assert_allclose(x, mean / np.linalg.norm(mean), atol=1e-6)


@pytest.mark.parametrize(("samples", "length"), [(1, 895), (894, 895), (895, 895), (896, 896)])
def test_a_short_sound_is_padded_to_one_step(samples: int, length: int) -> None:
    extractor = Moonshine()
    sound = noise(samples, 2)
    prepared = extractor.prepare(sound)
    assert len(prepared) == length
    np.testing.assert_array_equal(prepared[:samples], sound.samples)
    assert not prepared[samples:].any()
    assert hidden(extractor, prepared).shape == (1, 288)
    assert extractor.forward([prepared]).shape == (1, 288)


def test_a_long_sound_goes_in_equal_pieces() -> None:
    extractor = Moonshine()
    wave = noise(30 * 16_000 + 1000, 3).samples
    half = (len(wave) + 1) // 2
    steps = np.concatenate([hidden(extractor, wave[:half]), hidden(extractor, wave[half:])])
    mean = steps.mean(axis=0)
    x = extractor.forward([wave])[0]
    np.testing.assert_allclose(x, mean / np.linalg.norm(mean), atol=1e-6)
