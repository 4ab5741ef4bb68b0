"""What every anonymiser of media must keep. A new one's tests inherit it."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest

from withhold.core.errors import UserError
from withhold.methods import get_method, read_config
from withhold.methods.media_filter import FilterModifier
from withhold.records.samples import Clip, Picture, Sample, Sound

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))


class MediaFilterContract:
    """Subclass it and name the method; `keyed` where it draws something."""

    method: ClassVar[str]
    config: ClassVar[dict[str, Any]] = {}
    keyed: ClassVar[bool] = False

    @classmethod
    def kind(cls) -> type[FilterModifier[Any]]:
        kind = get_method(cls.method).modifier_type
        assert issubclass(kind, FilterModifier)
        return kind

    @classmethod
    def modifier(cls, key: bytes = KEY) -> FilterModifier[Any]:
        config: Any = read_config(cls.method, cls.config)
        return cls.kind()(config, key)

    @classmethod
    def samples(cls) -> dict[str, Sample]:
        """Of every kind it is for, ordinary ones and very small ones."""
        rng = np.random.default_rng(0)

        def pixels(*shape: int) -> npt.NDArray[np.uint8]:
            return rng.integers(0, 256, (*shape, 3)).astype(np.uint8)

        samples: dict[str, dict[str, Sample]] = {
            "image": {"image": Picture(pixels(40, 50)), "dot": Picture(pixels(1, 1))},
            "clip": {"clip": Clip(pixels(3, 40, 50), 12.5), "frame": Clip(pixels(1, 20, 9))},
            "sound": {
                "sound": Sound(0.1 * rng.standard_normal(4001).astype(np.float32), 8000),
                "click": Sound(np.ones(1, np.float32), 44_100),
                "nothing": Sound(np.zeros(0, np.float32), 16_000),
            },
            "text": {},
        }
        return {name: sample for kind in cls.kind().kinds for name, sample in samples[kind].items()}

    # --- what comes out -----------------------------------------------------------------------

    def test_kind_size_and_rate_stay(self) -> None:
        modifier = self.modifier()
        for name, sample in self.samples().items():
            out = modifier.apply(sample)
            assert type(out) is type(sample), name
            assert values(out).shape == values(sample).shape, name
            assert values(out).dtype == values(sample).dtype, name
            assert np.isfinite(values(out)).all(), name
            assert getattr(out, "rate", None) == getattr(sample, "rate", None), name

    def test_it_changes_something(self) -> None:
        name, sample = next(iter(self.samples().items()))
        assert (values(self.modifier().apply(sample)) != values(sample)).any(), name

    def test_other_kinds_are_refused(self) -> None:
        kinds = {type(sample) for sample in self.samples().values()}
        others: list[Sample] = [
            Picture(np.zeros((4, 4, 3), np.uint8)),
            Clip(np.zeros((2, 4, 4, 3), np.uint8)),
            Sound(np.zeros(9, np.float32), 8000),
            "words",
        ]
        for other in others:
            if type(other) not in kinds:
                with pytest.raises(UserError, match=f"method '{self.method}' is for .*, not "):
                    self.modifier().apply(other)

    # --- purity -------------------------------------------------------------------------------

    def test_asking_twice_gives_the_same_bytes(self) -> None:
        one, two = self.modifier(), self.modifier()
        for name, sample in self.samples().items():
            first = values(one.apply(sample)).tobytes()
            assert values(one.apply(sample)).tobytes() == first, name
            assert values(two.apply(sample)).tobytes() == first, name

    def test_the_input_is_left_as_it_was(self) -> None:
        for name, sample in self.samples().items():
            before = values(sample).copy()
            values(sample).setflags(write=False)
            out = self.modifier().apply(sample)
            np.testing.assert_array_equal(values(sample), before, err_msg=name)
            assert not np.shares_memory(values(out), values(sample)), name

    def test_the_key_matters_only_where_something_is_drawn(self) -> None:
        sample = next(iter(self.samples().values()))
        one, other = (values(self.modifier(key).apply(sample)) for key in (KEY, OTHER_KEY))
        assert bool((one != other).any()) == self.keyed

    def test_a_key_that_is_too_short_is_refused(self) -> None:
        with pytest.raises(ValueError, match="32 bytes, not 3"):
            self.modifier(b"abc")

    def test_a_clip_of_equal_frames_stays_one(self) -> None:
        if "clip" not in self.kind().kinds:
            return
        still = self.samples()["image"]
        assert isinstance(still, Picture)
        modifier = self.modifier()
        clip = modifier.apply(Clip(np.stack([still.pixels] * 4)))
        expected = values(modifier.apply(still))
        for frame in values(clip):
            np.testing.assert_array_equal(frame, expected)

    # --- saving -------------------------------------------------------------------------------

    def test_settings_make_the_same_modifier(self) -> None:
        modifier = self.modifier()
        settings = json.loads(json.dumps(modifier.settings()))
        again = type(modifier).from_state(modifier.state(), settings, KEY)
        assert again.config == modifier.config
        assert again.settings() == modifier.settings()

    def test_every_preset_is_a_config_and_can_be_changed(self) -> None:
        kind = self.kind()
        for preset, told in kind.presets.items():
            config = read_config(self.method, {"preset": preset})
            assert {name: getattr(config, name) for name in told} == told
        assert read_config(self.method, None) == kind.config_type()

    def test_a_wrong_setting_is_one_line(self) -> None:
        with pytest.raises(UserError, match=f"method '{self.method}' has no setting 'colour'"):
            read_config(self.method, {"colour": 1})
        with pytest.raises(UserError, match=f"method '{self.method}' has no preset 'best'"):
            read_config(self.method, {"preset": "best"})


def values(sample: Sample) -> npt.NDArray[Any]:
    """The array of a sample."""
    if isinstance(sample, Picture):
        return sample.pixels
    if isinstance(sample, Clip):
        return sample.frames
    assert isinstance(sample, Sound)
    return sample.samples
