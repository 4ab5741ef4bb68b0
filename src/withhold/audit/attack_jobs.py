"""The attacks of an audit, run as one list of tasks, and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import call
from typing import Any

from withhold.audit import picture
from withhold.audit.attack import Outcome, WarmAttack
from withhold.audit.attack_plan import (
    Question,
    Seen,
    fresh_attacks,
    models_of_originals,
)
from withhold.audit.attackers.attacker import Attacker, Prediction
from withhold.audit.measure_attribute import asked
from withhold.audit.pool import run_all, work
from withhold.audit.reverse_attack import ReverseAttack
from withhold.audit.setting_groups import Effort
from withhold.core.progress import Progress, Stage

_Place = tuple[list[Any], ...]  # the lists that get the outcomes of a task


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

    def run(
        self,
        pictures: Mapping[str, Any],
        wider: Sequence[tuple[float, Any]],
        effort: Effort,
        progress: Progress,
    ) -> list[Any]:
        """Run all attacks, the `pictures` and the tasks `wider`; return the results of the latter.

        All are one list of tasks, so that no core waits for the end of a stage.
        """
        tasks: list[tuple[_Place, Any, float]] = []
        warm: dict[str, list[Outcome]] = {q.name: [] for q in self.asks}
        raw = models_of_originals(self.attackers)
        for q in self.asks:
            if self.before is not None:
                tasks += self._models(q, self.before, raw, warm[q.name])
            attacks, self.declined[q.name] = fresh_attacks(
                q, self.after, self.attackers, seed=self.seed, twice=not self.quick
            )
            tasks += [((self.ladder[q.name],), a, a.cost) for a in attacks]
            if self.several is not None:
                attacks, _ = fresh_attacks(q, self.several, raw, seed=self.seed)
                tasks += [((self.repeated[q.name],), a, a.cost) for a in attacks]
        tasks += [((self.reverse.restored,), task, task.cost) for task in self.reverse.tasks]
        others = [(4.0, task) for task in pictures.values()] + [*wider]
        costs = [(cost, task) for _, task, cost in tasks] + others
        after = sum(
            round(self.reverse.cost(q, raw)) for q in self.asks if q.name in self.reverse.of
        )
        with progress.stage("attacking", work(costs) + after) as stage:
            results = dict(
                run_all(call, costs, workers=effort.workers, stage=stage, engine=effort.engine)
            )
            for i, (places, _, _) in enumerate(tasks):  # in ladder order, whichever finished first
                found = results[i] if len(places) > 1 else [results[i]]
                for place, outcome in zip(places, found, strict=False):
                    place.append(outcome)
            for name, outcomes in warm.items():
                self.ladder[name] += outcomes
            self._read_restored(raw, effort, stage)
        rest = [results[i] for i in range(len(tasks), len(costs))]
        self.pictures = dict(zip(pictures, rest, strict=False))
        return rest[len(pictures) :]

    def _read_restored(self, raw: Sequence[Attacker], effort: Effort, stage: Stage) -> None:
        """The attacks on restored images, which need all restored images and all models."""
        attacks = [
            (q.name, attack)
            for q in self.asks
            for attack in self.reverse.attacks(q, raw, self.models[q.name], seed=self.seed)
        ]
        costs = [(attack.cost, attack) for _, attack in attacks]
        results = dict(
            run_all(call, costs, workers=effort.workers, stage=stage, engine=effort.engine)
        )
        for i, (name, _) in enumerate(attacks):
            self.ladder[name].append(results[i])

    def _models(
        self, q: Question, before: Seen, raw: Sequence[Attacker], warm: list[Outcome]
    ) -> list[tuple[_Place, Any, float]]:
        """The models of the originals. `warm` gets the attacks that start from them."""
        models = self.models[q.name]
        if q.name in self.given:
            new = None if self.crossed is None else self.crossed.x
            models.append(asked("given", self.given[q.name], before.x, new, q.parts))
            return []
        attacks, _ = fresh_attacks(q, before, raw, seed=self.seed, also=self.crossed, twice=False)
        tasks: list[tuple[_Place, Any, float]] = []
        for a in attacks:
            if a.attacker.starts_warm and self.crossed is not None and not self.quick:
                both = WarmAttack(a)
                tasks.append(((models, warm), both, both.cost))
            else:
                tasks.append(((models,), a, a.cost))
        return tasks
