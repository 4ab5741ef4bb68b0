"""A modifier of media: a frozen, pure function from a sample to one like it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from withhold.core.errors import UserError
from withhold.learn.nets.device import core_count, threads
from withhold.methods.modifier import Labels, Modifier
from withhold.records.samples import Clip, Kind, Picture, Sample, Sound

_KINDS: dict[type, Kind] = {Picture: "image", Sound: "sound", Clip: "clip", str: "text"}


class MediaModifier(Modifier):
    """apply(sample) -> sample of the same kind and size.

    What it draws, it derives from the sample itself and `key` (32 bytes, kept secret): the same
    sample gets the same draw, so asking twice tells nothing new.
    """

    def transform(self, records: Sequence[Sample], labels: Labels | None = None) -> list[Sample]:
        """The anonymised samples, several at once."""
        # One thread a sample: how many share one decides the last bits of a network's output.
        with threads(1), ThreadPoolExecutor(core_count()) as pool:
            return list(pool.map(self.apply, records))

    def apply(self, sample: Sample) -> Sample:
        """The anonymised sample; raises BadMedia where it cannot be anonymised."""
        kind = _KINDS[type(sample)]
        if kind not in self.kinds:
            raise UserError(f"method '{self.method}' is for {' and '.join(self.kinds)}, not {kind}")
        return self._apply(sample)

    @abstractmethod
    def _apply(self, sample: Sample) -> Sample:
        """The same for a sample of a kind it is for."""
