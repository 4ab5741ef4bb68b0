"""Meet a budget with the least distortion, on records that were not used to learn the channel.

Two settings are searched. `relax` keeps more of the records: a class may use the codes in shares of
its own. `mix` lowers the leakage: it is the share of records that get a code by the weights alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.methods.features.codebook.budget import Leak, Limit, measure_leak
from withhold.methods.features.codebook.cells import joint
from withhold.methods.features.codebook.config import CodebookConfig
from withhold.methods.features.codebook.modifier import CodebookModifier
from withhold.methods.modifier import FloatArray
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.feasibility import guess_rate
from withhold.records.roles import Roles

Solve = Callable[[float | None], CodebookModifier]
_LOOSER = (3.0, 1.0, 0.3, 0.1)  # values of `relax`, from nearly equal shares to nearly free
_MOST = 20_000  # records of either part
_LEAST = 20  # labelled records to calibrate on


@dataclass(frozen=True, eq=False)
class Calibration:
    """Calibration and fitted records, and the limits with their attributes' floors."""

    held: Dataset
    fitted: Dataset
    limits: tuple[Limit, ...]
    floors: dict[str, float]

    @classmethod
    def of(
        cls,
        held: Dataset,
        fitted: Dataset,
        roles: Roles,
        limits: tuple[Limit, ...],
        *,
        labelled: bool,
        dataset: str,
    ) -> Calibration:
        """Make the calibration. A limit below the floor is refused: nothing can meet it.

        `labelled`: the channel needs the suppressed labels, so records without them, or of classes
        that were not fitted, are left out.
        """
        if labelled:
            held = held.rows(np.flatnonzero(_transformable(held, fitted, roles)))
        floors = {}
        for limit in limits:
            attribute = fitted.attribute(limit.name)
            if attribute.multilabel:
                raise UserError(
                    f"budget '{limit.text}': '{limit.name}' has several labels, and a budget needs"
                    " one; give each label its own column"
                )
            number = int(held.attribute(limit.name).known.sum()) if len(held) else 0
            if number < _LEAST:
                raise UserError(
                    f"budget '{limit.text}': {dataset} has {number} records with a label of"
                    f" '{limit.name}' to calibrate on, but needs {_LEAST}; label more of its val"
                    " part, or give no val part, so that a quarter of the training part is used"
                )
            floors[limit.name] = max(
                guess_rate(
                    part.attribute(limit.name),
                    [a for n in roles.preserve if not (a := part.attribute(n)).multilabel],
                )
                for part in (fitted, held)
            )
            if not limit.bits and limit.most(floors[limit.name]) < floors[limit.name]:
                raise UserError(
                    f"budget '{limit.text}' cannot be met: guessing '{limit.name}' without the"
                    f" release is right in {100 * floors[limit.name]:.2f} % of cases; the lowest"
                    f" possible budget is {limit.name}<=floor"
                )
        return cls(_some(held), _some(fitted), limits, floors)

    def leaks(self, made: CodebookModifier, mix: float = 0.0) -> dict[str, Leak]:
        """What each limit's attribute leaks through a channel."""
        w_fit, w = _probabilities(made, self.fitted), _probabilities(made, self.held)
        return self.leaks_of(_mixed(w_fit, made, mix), _mixed(w, made, mix))

    def leaks_of(self, w_fit: FloatArray, w: FloatArray) -> dict[str, Leak]:
        """The leaks for probabilities (n, N) and (m, N)."""
        out = {}
        for limit in self.limits:
            fitted, held = _same_classes(
                self.fitted.attribute(limit.name), self.held.attribute(limit.name)
            )
            a, b = fitted.codes >= 0, held.codes >= 0
            out[limit.name] = measure_leak(
                w_fit[a], fitted.codes[a], w[b], held.codes[b], len(fitted.classes)
            )
        return out

    def met(self, leaks: dict[str, Leak]) -> bool:
        """Whether every limit is kept."""
        return all(
            self._found(one, leaks) <= one.most(self.floors[one.name]) + 1e-6 for one in self.limits
        )

    def words(self, leaks: dict[str, Leak]) -> str:
        """The figures as text."""
        return ", ".join(
            f"{limit.name} {leaks[limit.name].bits:.3f} bits"
            if limit.bits
            else f"{limit.name} {100 * leaks[limit.name].accuracy:.2f} % (floor"
            f" {100 * self.floors[limit.name]:.2f} %)"
            for limit in self.limits
        )

    @staticmethod
    def _found(limit: Limit, leaks: dict[str, Leak]) -> float:
        leak = leaks[limit.name]
        return leak.bits if limit.bits else leak.accuracy


def meet(
    made: CodebookModifier,
    solve: Solve,
    calibration: Calibration,
    config: CodebookConfig,
    progress: Progress,
) -> CodebookModifier:
    """The channel with the least distortion that keeps the budget on the calibration records."""
    leaks = calibration.leaks(made)
    if not calibration.met(leaks):
        return _tighter(made, calibration, leaks, progress)
    best = made
    if config.relax is None:
        low, high = 0, len(_LOOSER)  # the first `low` values keep the budget
        while low < high:
            middle = (low + high) // 2
            looser = solve(_LOOSER[middle])
            found = calibration.leaks(looser)
            nearer = distortion(looser, calibration.held) < distortion(best, calibration.held)
            if calibration.met(found):
                best, leaks = (looser, found) if nearer else (best, leaks)
                low = middle + 1
            else:
                high = middle
    progress.say(f"budget kept on {len(calibration.held):,} records: {calibration.words(leaks)}")
    return best


def _tighter(
    made: CodebookModifier, calibration: Calibration, first: dict[str, Leak], progress: Progress
) -> CodebookModifier:
    """The smallest `mix` that keeps the budget, by bisection."""
    w_fit, w = _probabilities(made, calibration.fitted), _probabilities(made, calibration.held)

    def leaks(mix: float) -> dict[str, Leak]:
        return calibration.leaks_of(_mixed(w_fit, made, mix), _mixed(w, made, mix))

    if not calibration.met(leaks(1.0)):
        raise UserError(
            f"the budget cannot be met on {len(calibration.held):,} calibration records: even a"
            f" release that reveals nothing gets {calibration.words(leaks(1.0))} there; raise the"
            " budget, or give more records"
        )
    low, high = 0.0, 1.0
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (low, middle) if calibration.met(leaks(middle)) else (middle, high)
    progress.say(
        f"warning: the budget is kept only if {100 * high:.0f} % of the records get a random"
        f" code (without: {calibration.words(first)}; with: {calibration.words(leaks(high))})"
    )
    return made.with_book(replace(made.book, mix=high))


def distortion(made: CodebookModifier, data: Dataset) -> float:
    """E |x - c_J|^2 over the variance of x: 0 keeps everything, 1 nothing."""
    x = data.x.astype(np.float64)
    w = _probabilities(made, data).astype(np.float64)
    c = made.codes.astype(np.float64)
    cross = ((w @ c) * x).sum(axis=1)
    square = (x**2).sum(axis=1) - 2 * cross + w @ (c**2).sum(axis=1)
    around = ((x - x.mean(axis=0)) ** 2).sum(axis=1)
    return float(square.mean() / max(around.mean(), 1e-300))


def _probabilities(made: CodebookModifier, data: Dataset) -> FloatArray:
    return made.probabilities(data.x, {n: data.attribute(n) for n in made.needs})


def _mixed(w: FloatArray, made: CodebookModifier, mix: float) -> FloatArray:
    return w if mix == 0 else (1 - np.float32(mix)) * w + np.float32(mix) * made.book.weights


def _transformable(held: Dataset, fitted: Dataset, roles: Roles) -> npt.NDArray[np.bool_]:
    names, codes = joint([held.attribute(n) for n in roles.suppress])
    known = set(joint([fitted.attribute(n) for n in roles.suppress])[0])
    place = np.array([*(name in known for name in names), False])
    return place[codes]


def _some(data: Dataset) -> Dataset:
    if len(data) <= _MOST:
        return data
    chosen = np.random.default_rng(0).permutation(len(data))[:_MOST]
    return data.rows(np.sort(chosen))


def _same_classes(one: Attribute, two: Attribute) -> tuple[Attribute, Attribute]:
    """The labels of two parts, over the classes of both."""
    names = {n: i for i, n in enumerate(dict.fromkeys((*one.classes, *two.classes)))}
    out = []
    for attribute in (one, two):
        place = np.array([*(names[n] for n in attribute.classes), -1], np.int64)
        out.append(Attribute(attribute.name, "categorical", tuple(names), place[attribute.codes]))
    return out[0], out[1]
