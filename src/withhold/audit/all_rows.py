"""`all_rows`: attack every released record, including train and validation, part by part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.audit.attack_plan import Question, Seen
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.attackers.corners import Corners
from withhold.audit.cross import Said, cross_fit, folds_of, guess_without
from withhold.audit.elimination_attack import eliminate, eliminate_from
from withhold.audit.findings import AllRows, SliceRead, Wider
from withhold.audit.intervals import share, shared
from withhold.audit.measure_attribute import floor
from withhold.audit.metrics import label_share
from withhold.audit.split import Rows, Split, tells_group
from withhold.audit.surest import worst_slice
from withhold.records.attribute import Attribute

Mask = npt.NDArray[np.bool_]
MOST, MOST_QUICK = 6_000, 2_500  # records


@dataclass(frozen=True, eq=False)
class RowsTask:
    """The attack on all records for one attribute. Call it to run it, in any process.

    It holds the sampled records only: labels, preserved labels, features in two views, and parts.
    """

    attribute: Attribute
    given: tuple[Attribute, ...]
    standard: FloatArray
    reduced: FloatArray
    units: Rows | None  # the person of each record
    apart: Rows | None  # the same if people are kept apart in folds
    split: Split
    tested: float  # the floor of the test part if there are preserved labels, which holds here too
    names: tuple[str, ...]
    seed: int

    @property
    def cost(self) -> float:
        """About how many seconds it will take."""
        n, d = self.standard.shape
        classes = 1 if len(self.attribute.classes) == 2 else len(self.attribute.classes)
        return float(0.3 + 1e-5 * n * min(d, 64) * min(classes, 60) / 4)

    def __call__(self) -> tuple[AllRows | None, SliceRead | None]:
        """What attackers read from all records, and the slice that they read most surely."""
        attribute, tested = self.attribute, self.tested
        folds = folds_of(np.arange(len(attribute.codes)), self.apart, self.seed)
        views = {"standard": self.standard, "reduced": self.reduced}
        aside = () if attribute.multilabel else (Corners(),)
        said = cross_fit(views, attribute, folds, aside=aside, seed=self.seed)
        best = said["best"]
        if not len(best.rows):
            return None, None
        without = np.zeros(len(attribute.codes), bool)
        if not attribute.multilabel:
            where, right = guess_without(attribute, self.given, folds)
            without[where] = right
        parts = {"train": self.split.train, "val": self.split.val, "test": self.split.test}
        masks = {"all": np.ones(len(best.rows), bool)}
        masks |= {n: m[best.rows] for n, m in parts.items() if m[best.rows].any()}
        level = shared(2 * len(masks))
        read = {
            n: _read(best, attribute, mask, without, self.units, level, tested)
            for n, mask in masks.items()
        }
        missing = self._eliminated(masks, best.rows, without, level, tested)
        worst = max(
            [*read.items(), *missing.items()],
            key=lambda one: (one[1].sure, one[1].least - one[1].floor),
        )
        worst = worst if worst[1].sure else ("all", read["all"])
        found = AllRows(**worst[1].model_dump(), part=worst[0], parts=read, elimination=missing)
        one = worst_slice(
            said,
            attribute,
            self.standard,
            self.names,
            without=without[best.rows] if self.given else None,
            floor=read["all"].floor,
            units=self.units,
            seed=self.seed,
        )
        return found, one

    def _eliminated(
        self, masks: dict[str, Mask], rows: Rows, without: Mask, level: float, tested: float
    ) -> dict[str, Wider]:
        """The accuracy of naming the class that a code, or a group of codes, lacks, by part."""
        attribute = self.attribute
        if attribute.multilabel:
            return {}
        found = {}
        for name, mask in masks.items():
            mine = rows[mask]
            levels = eliminate(self.standard[mine], attribute.rows(mine))
            if not levels:
                continue
            guess = max(attribute.rows(mine).majority, float(without[mine].mean()), tested)
            # Preserved labels alone may reveal the missing class: if all speakers say a digit
            # equally often, the one with a record too few is the answer.
            kept = [a.rows(mine) for a in self.given]
            guess = max(guess, eliminate_from(kept, attribute.rows(mine)))
            # Each level is one more test. A coarser one is shown only if it is surely above both
            # the floor and what single codes surely tell: the best of many is high by chance.
            each = 1 - (1 - level) / len(levels)
            tests = [share(right, units, level=each) for right, units in levels]
            best = max(tests, key=lambda one: one[2])
            accuracy, ci, least = best if best[2] > guess else tests[0]
            found[name] = Wider(
                records=len(mine),
                accuracy=accuracy,
                ci=ci,
                least=least,
                floor=guess,
                attacker="elimination",
            )
        return found


def rows_task(
    question: Question, seen: Seen, split: Split, names: tuple[str, ...], *, quick: bool, seed: int
) -> RowsTask:
    """The task for one attribute: a random sample of its labelled records, from every part."""
    attribute, given, units = question.attribute, question.given, question.parts.units
    rows = labelled(attribute, quick=quick, seed=seed)
    apart = people_apart(attribute, units)
    return RowsTask(
        attribute.rows(rows),
        tuple(a.rows(rows) for a in given),
        seen.view("standard")[rows],
        seen.view("reduced")[rows],
        None if units is None else units[rows],
        None if apart is None else apart[rows],
        split.on(rows),
        floor(attribute, given, question.parts) if given else 0.0,
        names,
        seed,
    )


def labelled(attribute: Attribute, *, quick: bool, seed: int) -> Rows:
    """Labelled records of all parts; a random sample if there are many."""
    rng = np.random.default_rng([seed, 0xA110])
    rows = rng.permutation(np.flatnonzero(attribute.known))
    return np.sort(rows[: MOST_QUICK if quick else MOST])


def people_apart(attribute: Attribute, units: Rows | None) -> Rows | None:
    """The people to keep apart in folds; None if the attribute identifies them, or they are few."""
    if units is None or tells_group(attribute, units):
        return None
    known = attribute.known
    return units if len(np.unique(units[known])) >= 12 else None


def _read(
    said: Said,
    attribute: Attribute,
    mask: Mask,
    without: Mask,
    units: Rows | None,
    level: float,
    tested: float,
) -> Wider:
    rows, log_p = said.rows[mask], said.log_p[mask]
    truth = attribute.rows(rows)
    people = None if units is None else units[rows]
    if attribute.multilabel:
        accuracy, ci, least = label_share(log_p, truth.codes, people, level=level)
        guess = truth.majority
    else:
        accuracy, ci, least = share(log_p.argmax(axis=1) == truth.codes, people, level=level)
        guess = max(truth.majority, float(without[rows].mean()), tested)
    return Wider(
        records=len(rows), accuracy=accuracy, ci=ci, least=least, floor=guess, attacker=said.by
    )
