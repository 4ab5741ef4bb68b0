"""The synthetic voices are deterministic, and each attribute moves what it says it moves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from withhold.core.errors import UserError
from withhold.datasets.worlds import Voices, voices
from withhold.datasets.worlds.synthesiser import WORDS
from withhold.datasets.worlds.voices import ACCENTS, Person, cast, say

Wave = npt.NDArray[np.float32]


@pytest.fixture(scope="module")
def world() -> Voices:
    return voices(speakers=12, takes=5, seed=3)


def pitch(wave: Wave, rate: int = 8000) -> float:
    """F0 in Hz: the autocorrelation's highest peak over 70..350 Hz, median over loud frames."""
    frames = np.lib.stride_tricks.sliding_window_view(wave.astype(np.float64), 400)[::80]
    loud = frames[(frames**2).sum(axis=1) > 0.3 * (frames**2).sum(axis=1).max()]
    spectrum = np.abs(np.fft.rfft(loud * np.hanning(400), 1024)) ** 2
    correlation = np.fft.irfft(spectrum)
    lags = np.arange(rate // 350, rate // 70)
    best = lags[correlation[:, lags].argmax(axis=1)]
    return float(np.median(rate / best))


def centroid(wave: Wave, low: float, high: float, rate: int = 8000) -> float:
    """Mean frequency of the power between two frequencies: where the formants in it sit."""
    power = np.abs(np.fft.rfft(wave)) ** 2
    frequency = np.fft.rfftfreq(len(wave), 1 / rate)
    inside = (frequency > low) & (frequency < high)
    return float((frequency * power)[inside].sum() / power[inside].sum())


def said(person: Person, digit: str, takes: int = 6) -> list[Wave]:
    return say(person, digit, [np.random.default_rng((9, take)) for take in range(takes)], 8000)


def column(world: Voices, name: str) -> npt.NDArray[np.str_]:
    return np.array(world.attributes[name].to_pylist())


def test_same_seed_same_bytes_and_another_seed_another_world() -> None:
    first, again = voices(speakers=2, takes=3, seed=5), voices(speakers=2, takes=3, seed=5)
    other = voices(speakers=2, takes=3, seed=6)
    assert [w.tobytes() for w in first.waveforms] == [w.tobytes() for w in again.waveforms]
    assert first.attributes.equals(again.attributes)
    assert not any(
        a.tobytes() == b.tobytes() for a, b in zip(first.waveforms, other.waveforms, strict=True)
    )


def test_a_clip_does_not_depend_on_how_many_are_asked_for(world: Voices) -> None:
    fewer = voices(speakers=4, takes=3, seed=3)
    wide = {
        (row["speaker"], row["digit"], row["take"]): (row["gender"], row["accent"], wave)
        for row, wave in zip(world.attributes.to_pylist(), world.waveforms, strict=True)
    }
    for row, wave in zip(fewer.attributes.to_pylist(), fewer.waveforms, strict=True):
        gender, accent, same = wide[row["speaker"], row["digit"], row["take"]]
        assert (row["gender"], row["accent"]) == (gender, accent)
        # batches of another size may round the last bit of a transform in another way
        np.testing.assert_allclose(wave, same, atol=1e-6)


def test_no_two_clips_are_alike(world: Voices) -> None:
    assert len({wave.tobytes() for wave in world.waveforms}) == len(world.waveforms) == 600


def test_waveforms_are_finite_within_bounds_and_speech_long(world: Voices) -> None:
    for wave in world.waveforms:
        assert wave.dtype == np.float32
        assert wave.ndim == 1
        assert np.isfinite(wave).all()
        assert 0.15 < np.abs(wave).max() < 1.0
        assert 0.15 < len(wave) / world.rate < 1.5


def test_every_speaker_says_every_digit_in_every_split(world: Voices) -> None:
    cells = {(row["speaker"], row["digit"], row["split"]) for row in world.attributes.to_pylist()}
    assert len(cells) == 12 * len(WORDS) * 3


@pytest.mark.parametrize(("takes", "counts"), [(3, (1, 1, 1)), (20, (13, 3, 4))])
def test_takes_are_split_in_order(takes: int, counts: tuple[int, int, int]) -> None:
    table = voices(speakers=1, takes=takes).attributes
    split = table["split"].to_pylist()[:takes]
    assert split == ["train"] * counts[0] + ["val"] * counts[1] + ["test"] * counts[2]
    assert table["take"].to_pylist()[:takes] == list(range(takes))


def test_gender_and_accent_are_crossed_and_balanced() -> None:
    for seed in range(4):
        people = cast(24, seed)
        cells = [(person.gender, person.accent) for person in people]
        assert all(cells.count(cell) == 4 for cell in set(cells))
        assert len(set(cells)) == 2 * len(ACCENTS)
    orders = {tuple(person.gender for person in cast(24, seed)) for seed in range(4)}
    assert len(orders) == 4


def test_gender_moves_pitch(world: Voices) -> None:
    vowel = np.isin(column(world, "digit"), ["1", "4", "9"])
    heard = np.array([pitch(w) for w, keep in zip(world.waveforms, vowel, strict=True) if keep])
    gender = column(world, "gender")[vowel]
    women, men = heard[gender == "female"], heard[gender == "male"]
    assert 170 < np.median(women) < 240
    assert 95 < np.median(men) < 140
    assert np.mean((heard > 155) == (gender == "female")) > 0.95


def test_the_pitch_asked_for_is_heard() -> None:
    person = cast(1, 0)[0]
    for wanted in (90.0, 140.0, 220.0):
        heard = np.mean([pitch(w) for w in said(replace(person, pitch=wanted), "1")])
        assert heard == pytest.approx(wanted, rel=0.05)


def test_a_shorter_tract_moves_formants_up_and_leaves_pitch() -> None:
    person = replace(cast(1, 0)[0], pitch=110.0)
    long, short = replace(person, tract=18.0), replace(person, tract=15.0)
    # over F2 of the "three" and over F1 of the "four": both rise by about 18 / 15
    for digit, low, high in (("3", 1700, 3000), ("4", 200, 1400)):
        ratios = [
            centroid(up, low, high) / centroid(down, low, high)
            for up, down in zip(said(short, digit), said(long, digit), strict=True)
        ]
        assert 1.05 < np.mean(ratios) < 1.3
    assert np.mean([pitch(w) for w in said(short, "1")]) == pytest.approx(
        np.mean([pitch(w) for w in said(long, "1")]), rel=0.03
    )


def test_breath_fills_the_gaps_between_harmonics() -> None:
    person = replace(cast(1, 0)[0], pitch=120.0)

    def periodicity(breath: float) -> float:
        peaks = []
        for wave in said(replace(person, breath=breath), "4"):
            middle = wave[len(wave) // 2 - 400 : len(wave) // 2 + 400]
            spectrum = np.abs(np.fft.rfft(middle * np.hanning(800), 2048)) ** 2
            correlation = np.fft.irfft(spectrum)
            peaks.append(correlation[50:90].max() / correlation[0])
        return float(np.mean(peaks))

    assert periodicity(0.01) > periodicity(0.5) + 0.05


def test_accent_moves_rhythm_and_vowels() -> None:
    person = cast(1, 0)[0]
    south, east = (replace(person, accent=accent) for accent in ("south", "east"))
    lengths = [np.mean([len(w) for w in said(who, "5")]) for who in (south, east)]
    assert lengths[0] > 1.15 * lengths[1]
    # the east says "two" with a fronted vowel: more power about a raised F2
    assert np.mean([centroid(w, 700, 2000) for w in said(east, "2")]) > 1.05 * np.mean(
        [centroid(w, 700, 2000) for w in said(south, "2")]
    )


def picture(wave: Wave, segments: int) -> npt.NDArray[np.float64]:
    """Log power in 32 bands and some segments of time, (32 * segments,)."""
    frames = np.lib.stride_tricks.sliding_window_view(wave, 256)[::64] * np.hanning(256)
    power = (np.abs(np.fft.rfft(frames)) ** 2)[:, :128].reshape(len(frames), 32, 4).sum(axis=2)
    parts = np.array_split(power, segments)
    return np.log(np.concatenate([part.mean(axis=0) for part in parts]) + 1e-6)


def test_digits_are_told_on_unseen_speakers_and_by_their_course_in_time(world: Voices) -> None:
    digit, unseen = column(world, "digit"), np.isin(column(world, "speaker"), ["s10", "s11"])

    def accuracy(segments: int) -> float:
        x = np.stack([picture(wave, segments) for wave in world.waveforms])
        probe = make_pipeline(StandardScaler(), RidgeClassifier(alpha=30.0))
        return float(probe.fit(x[~unseen], digit[~unseen]).score(x[unseen], digit[unseen]))

    course = accuracy(8)
    assert course > 0.85
    assert course > accuracy(1) + 0.1


def test_fricatives_hiss_and_vowels_do_not() -> None:
    person = cast(1, 0)[0]

    def high(digit: str) -> float:
        shares = []
        for wave in said(person, digit):
            power = np.abs(np.fft.rfft(wave)) ** 2
            shares.append(power[len(power) * 3 // 4 :].sum() / power.sum())
        return float(np.mean(shares))

    assert high("6") > 5 * high("1")


def test_the_rate_changes_the_samples_and_not_the_seconds() -> None:
    low, high = voices(speakers=1, takes=3), voices(speakers=1, takes=3, rate=22050)
    for a, b in zip(low.waveforms, high.waveforms, strict=True):
        assert np.isfinite(b).all()
        assert len(a) / 8000 == pytest.approx(len(b) / 22050, abs=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"speakers": 0}, "speakers"),
        ({"takes": 2}, "takes"),
        ({"rate": 4000}, "rate"),
        ({"seed": -1}, "seed"),
    ],
)
def test_mistakes_are_named_in_one_line(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        voices(**arguments)
    assert "\n" not in str(caught.value)
