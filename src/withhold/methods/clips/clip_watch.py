"""Early warnings: a training whose result would be of no use, or hides nothing."""

from __future__ import annotations

from withhold.core.progress import Progress

_EPOCHS = 2  # epochs in a row before a warning: the first may start anywhere
_FLAT = 0.01  # deviation between clips, pixels 0 to 1: below it, all look the same
_ABOVE = 0.05  # accuracy above the majority that counts as recognised


class ClipWatch:
    """Looks at the means of every epoch and says each warning once.

    `action_floor` is the accuracy of guessing the commonest action.
    """

    def __init__(self, progress: Progress, *, action_floor: float) -> None:
        self.progress, self.floor = progress, action_floor
        self._in_a_row: dict[str, int] = {}

    def look(self, means: dict[str, float]) -> None:
        """Count the signs of trouble in one epoch."""
        self._count(
            means.get("spread", 1.0) < _FLAT,
            "collapse",
            "the anonymised clips all look the same, so the release would hold nothing; lower"
            " gamma (weight) or the learning_rate",
        )
        read = means.get("action_val", means.get("action_read"))
        self._count(
            read is not None and read < self.floor + _ABOVE,
            "action lost",
            f"the action model recognises {100 * (read or 0):.0f} % of the anonymised clips, and"
            f" guessing {100 * self.floor:.0f} %; lower gamma (weight), or raise action_epochs",
        )
        self._count(
            means.get("privacy_spread", 1.0) < _FLAT,
            "privacy models",
            "the privacy models say the same of every frame, so the anonymiser learns nothing from"
            " them; lower privacy_rate (branch_rate), or widen the models",
        )

    def _count(self, bad: bool, name: str, warning: str) -> None:
        self._in_a_row[name] = self._in_a_row.get(name, 0) + 1 if bad else 0
        if self._in_a_row[name] == _EPOCHS:
            self.progress.say(f"warning: {warning}")
