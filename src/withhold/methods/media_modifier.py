"""A modifier of media: a frozen, pure function from a sample to a similar sample."""

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

    Its random numbers depend only on the sample and `key` (32 secret bytes). The same sample gets
    the same draw, so asking twice reveals nothing new.
    """

    def transform(self, records: Sequence[Sample], labels: Labels | None = None) -> list[Sample]:
        """The anonymised samples, several at once."""
        # One thread per sample: the number of threads determines the last bits of an output.
        with threads(1), ThreadPoolExecutor(core_count()) as pool:
            return list(pool.map(self.apply, records))

    def apply(self, sample: Sample) -> Sample:
        """The anonymised sample; raises BadMedia if it cannot be anonymised."""
        kind = _KINDS[type(sample)]
        if kind not in self.kinds:
            raise UserError(f"method '{self.method}' is for {' and '.join(self.kinds)}, not {kind}")
        return self._apply(sample)

    @abstractmethod
    def _apply(self, sample: Sample) -> Sample:
        """`apply` for a sample whose kind was checked."""
