"""The attacks of an audit: their order, which ones start from other models, and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import call
from typing import Any

from withhold.audit import picture
from withhold.audit.attack import Outcome
from withhold.audit.attack_plan import (
    Question,
    Seen,
    fresh_attacks,
    models_of_originals,
    warm_attacks,
)
from withhold.audit.attackers.attacker import Attacker, Prediction
from withhold.audit.measure_attribute import asked
from withhold.audit.pool import run_all, work
from withhold.audit.reverse_attack import ReverseAttack
from withhold.core.progress import Progress


class Jobs:
    """The attacks of an audit and their outcomes, by attribute.

    `before` and `after` are the original and the release, each in its own views. `crossed` is the
    release in the views of the original. `several` is the mean of several draws. If `before` is
    None, the audit has only the original, and it is `after`.
    """

    def __init__(
        self,
        asks: Sequence[Question],
        attackers: Sequence[Attacker],
        before: Seen | None,
        after: Seen,
        crossed: Seen | None,
        several: Seen | None,
        given: Mapping[str, Prediction],
        *,
        seed: int,
        quick: bool = False,
    ) -> None:
        self.asks, self.attackers, self.seed, self.given = asks, attackers, seed, given
        self.quick = quick
        self.before, self.after, self.crossed, self.several = before, after, crossed, several
        names = [q.name for q in asks]
        self.ladder: dict[str, list[Outcome]] = {n: [] for n in names}
        self.models: dict[str, list[Outcome]] = {n: [] for n in names}
        self.repeated: dict[str, list[Outcome]] = {n: [] for n in names}
        self.declined: dict[str, dict[str, str]] = {n: {} for n in names}
        self.pictures: dict[str, picture.Points] = {}
        some = () if quick else tuple(q for q in asks if q.role != "hidden")
        self.reverse = ReverseAttack.plan(some, before, after, attackers, seed=seed)

    def run(self, pictures: Mapping[str, Any], workers: int | None, progress: Progress) -> None:
        """Run the models of the originals, the fresh attackers and the pictures; then the attackers
        that start from those models."""
        first: list[tuple[list[Any] | str, Any, float]] = []
        later: list[tuple[Question, float]] = []
        raw = models_of_originals(self.attackers)
        for q in self.asks:
            if self.before is not None:
                later += self._models(q, self.before, raw, first)
            attacks, self.declined[q.name] = fresh_attacks(
                q, self.after, self.attackers, seed=self.seed, twice=not self.quick
            )
            first += [(self.ladder[q.name], a, a.cost) for a in attacks]
            if q.name in self.reverse.of:
                later.append((q, self.reverse.cost(q, raw)))
            if self.several is not None:
                attacks, _ = fresh_attacks(q, self.several, raw, seed=self.seed)
                first += [(self.repeated[q.name], a, a.cost) for a in attacks]
        first += [(self.reverse.restored, task, task.cost) for task in self.reverse.tasks]
        first += [(name, task, 4.0) for name, task in pictures.items()]
        total = work([(c, None) for _, _, c in first]) + work([(c, None) for _, c in later])
        with progress.stage("attacking", total) as stage:
            self._do(first, workers, stage)
            second: list[tuple[list[Any] | str, Any, float]] = []
            for q in self.asks:
                models = self.models[q.name]
                known = {o.name: o for o in models}
                reverse = self.reverse.attacks(q, raw, models, seed=self.seed)
                second += [(self.ladder[q.name], a, a.cost) for a in reverse]
                if self.crossed is not None and not self.quick:
                    warm = warm_attacks(q, self.crossed, raw, known, seed=self.seed)
                    second += [(self.ladder[q.name], a, a.cost) for a in warm]
            self._do(second, workers, stage)

    def _models(
        self, q: Question, before: Seen, raw: Sequence[Attacker], tasks: list[Any]
    ) -> list[tuple[Question, float]]:
        """Add tasks for the models of the originals; return the costs of attacks based on them."""
        if q.name in self.given:
            new = None if self.crossed is None else self.crossed.x
            model = self.given[q.name]
            self.models[q.name].append(asked("given", model, before.x, new, q.parts))
            return []
        attacks, _ = fresh_attacks(q, before, raw, seed=self.seed, also=self.crossed, twice=False)
        tasks += [(self.models[q.name], a, a.cost) for a in attacks]
        if self.crossed is None or self.quick:
            return []
        return [(q, a.cost) for a in attacks if a.attacker.starts_warm]

    def _do(
        self,
        tasks: Sequence[tuple[list[Any] | str, Any, float]],
        workers: int | None,
        stage: Any,
    ) -> None:
        costs = [(cost, task) for _, task, cost in tasks]
        results: dict[int, Any] = dict(run_all(call, costs, workers=workers, stage=stage))
        for i, (where, _, _) in enumerate(tasks):  # in ladder order, whichever finished first
            if isinstance(where, str):
                self.pictures[where] = results[i]
            else:
                where.append(results[i])
