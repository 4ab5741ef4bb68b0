"""What the sound anonymisers share: a filter of one sound, and its draws."""

from __future__ import annotations

from abc import abstractmethod

from withhold.core.keyed import keyed_normal, keyed_uniform, other_key
from withhold.methods.media_filter import C, FilterModifier
from withhold.records.samples import FloatArray, Sample, Sound


class SoundModifier(FilterModifier[C]):
    """A filter on a sound."""

    kinds = ("sound",)

    @abstractmethod
    def change(self, sound: Sound) -> Sound:
        """The sound, filtered."""

    def _apply(self, sample: Sample) -> Sample:
        assert isinstance(sample, Sound)  # the only kind that `apply` accepts
        return self.change(sample)

    def _normal(self, sound: Sound) -> FloatArray:
        """Standard normal numbers for this sound, one per sample."""
        key = other_key(self.key, f"{self.method}: noise")
        noise: FloatArray = keyed_normal(key, sound.samples[None])[0]
        return noise

    def _uniform(self, sound: Sound) -> float:
        """A number in (0, 1) for this sound."""
        key = other_key(self.key, f"{self.method}: place")
        return float(keyed_uniform(key, sound.samples[None])[0])
