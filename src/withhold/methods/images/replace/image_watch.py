"""Early warnings: a training that can no longer teach its filter or generator anything."""

from __future__ import annotations

from withhold.core.progress import Progress
from withhold.methods.images.replace.config import GapConfig

_SPREAD = 0.01  # nats: scores that differ less between images are the same for all of them
_OVER = 1.25  # distortion above epsilon, as a factor, that is worth a warning
_EPOCHS = 2  # epochs in a row before a warning: the first may start anywhere


class ImageWatch:
    """Looks at the means of every epoch and says each warning once."""

    def __init__(self, config: GapConfig, majority: float, progress: Progress) -> None:
        self.config, self.majority, self.progress = config, majority, progress
        self._in_a_row: dict[str, int] = {}

    def look(self, means: dict[str, float]) -> None:
        """Count the signs of trouble in one epoch."""
        for name in ("filter", "generator"):
            bent = means.get(f"{name}_distortion")
            if bent is not None:
                self._count(
                    bent > _OVER * self.config.epsilon,
                    f"the {name} distorts by {bent:.4f}, more than epsilon {self.config.epsilon:g}"
                    " allows; raise epsilon or penalty, or train longer",
                    f"distortion of {name}",
                )
        if "filter_spread" in means:
            self._count(
                means["filter_spread"] < _SPREAD,
                "the filter's reader says the same of every image, so the filter learns nothing;"
                " lower the learning_rate, or widen the reader",
                "filter reader",
            )
        if "generator_read_real" in means:
            self._count(
                means["generator_read_real"] <= self.majority + 0.01,
                "the generator's reader cannot tell the classes of the originals, so s' is not put"
                " in; train longer, widen the reader, or lower reader_every",
                "generator reader",
            )
            self._count(
                means["generator_read_made"] > 0.995,
                "the generator's reader finds every made image, so the generator learns little;"
                " raise reader_every or epsilon",
                "generator found out",
            )

    def _count(self, bad: bool, warning: str, name: str) -> None:
        self._in_a_row[name] = self._in_a_row.get(name, 0) + 1 if bad else 0
        if self._in_a_row[name] == _EPOCHS:
            self.progress.say(f"warning: {warning}")
