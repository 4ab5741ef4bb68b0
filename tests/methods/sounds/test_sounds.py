"""Sound anonymisers: what they draw, and from where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from contracts.media_filter import KEY, OTHER_KEY
from withhold.core.errors import UserError
from withhold.media.sound_filters import mcadams
from withhold.methods import get_method, read_config
from withhold.records.samples import FloatArray, Sound


def sound(seed: int = 0, samples: int = 2000) -> Sound:
    rng = np.random.default_rng(seed)
    return Sound(0.1 * rng.standard_normal(samples).astype(np.float32), 8000)


def applied(name: str, to: Sound, key: bytes = KEY, **settings: Any) -> FloatArray:
    out = get_method(name).modifier_type(read_config(name, settings), key).apply(to)
    assert isinstance(out, Sound)
    return out.samples


def test_every_sound_has_a_draw_of_its_own() -> None:
    one, other = (applied("white-noise", sound(s)) - sound(s).samples for s in (0, 1))
    inside = slice(400, 1600)
    assert abs(np.corrcoef(one[inside], other[inside])[0, 1]) < 0.15
    assert one[inside].std() == pytest.approx(1200**-0.5, rel=0.1)


def test_the_place_of_the_mask_is_anywhere() -> None:
    """Of 200 sounds, in equal shares."""
    starts = [np.flatnonzero(applied("mask", sound(s, 100)) == 0)[0] for s in range(200)]
    assert np.bincount(np.array(starts) // 10, minlength=6)[:5].min() > 20
    assert max(starts) <= 50


def test_with_noise_the_masked_half_is_as_loud_as_noise_is() -> None:
    out = applied("mask", sound(), preset="mass")
    changed = out != sound().samples
    assert changed.sum() == 1000
    assert out[changed].std() == pytest.approx(1, rel=0.1)


def test_a_fixed_coefficient_is_the_filter() -> None:
    np.testing.assert_array_equal(applied("mcadams", sound()), mcadams(sound(), 0.8).samples)


def test_a_drawn_coefficient_is_between_the_two() -> None:
    kind = get_method("mcadams").modifier_type
    one = kind(read_config("mcadams", {"preset": "voiceprivacy-random"}), KEY)
    drawn = [one._coefficient(sound(s, 50)) for s in range(100)]  # type: ignore[attr-defined]
    assert 0.5 <= min(drawn) < 0.55
    assert 0.85 < max(drawn) <= 0.9
    assert np.mean(drawn) == pytest.approx(0.7, abs=0.04)


def test_noise_and_place_of_a_mask_tell_nothing_of_white_noise() -> None:
    """The same key and sound, another purpose: another draw."""
    silent = Sound(np.zeros(1000, np.float32), 8000)
    masked = applied("mask", silent, ratio=1.0, with_noise=True)
    fixed = Sound(np.ones(1000, np.float32) * 1e-3, 8000)
    added = applied("white-noise", fixed, zone=(0, 1), snr=0.0)
    again = applied("white-noise", fixed, OTHER_KEY, zone=(0, 1), snr=0.0)
    assert abs(np.corrcoef(masked, added)[0, 1]) < 0.15
    assert abs(np.corrcoef(added, again)[0, 1]) < 0.15


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("mcadams", {"coefficient": 3}, r"'coefficient'.*less than or equal to 2"),
        ("mcadams", {"coefficient": [0.9, 0.5]}, "the lower coefficient must come first"),
        ("mcadams", {"hop": 0.5}, "hop must not be longer than window"),
        ("white-noise", {"zone": [0.8, 0.2]}, "a zone must begin before it ends"),
        ("mask", {"ratio": 2}, r"'ratio'.*less than or equal to 1"),
        ("masque", {}, "there is no method 'masque'; did you mean"),
    ],
)
def test_a_wrong_setting_says_what_is_wrong(
    name: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        read_config(name, settings)
