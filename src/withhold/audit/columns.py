"""The columns of a release: what they reveal of suppressed attributes, alone and together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from withhold.audit import precision, row_order
from withhold.audit.attack import Attack, Outcome
from withhold.audit.attack_plan import Question
from withhold.audit.attackers import Logistic, Prior, Trees
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.cross import folds_of, guess_without
from withhold.audit.feature_views import FeatureViews
from withhold.audit.findings import Column, ColumnRead, Tier
from withhold.audit.intervals import SURE, wilson
from withhold.audit.measure_attribute import floor
from withhold.audit.metrics import score
from withhold.audit.pairing import PairedRelease
from withhold.audit.released_columns import encode_released, scaled
from withhold.audit.select_attacker import Reading, choose
from withhold.audit.split import AttackParts, Rows
from withhold.records.attribute import Attribute
from withhold.records.columns.column_encoding import EncodedColumn
from withhold.records.columns.tells import LEVEL, Telling, how_well_it_tells, is_copy
from withhold.records.columns.together import columns_to_pair, telling_sets

_ROWS, _ROWS_QUICK = 9_000, 4_000
TOGETHER = " with "  # joins the names of columns that reveal an attribute only together
_TOGETHER = (Prior(), Logistic(strengths=(0.01, 0.3)), Trees(rounds=60, patience=5, budget=1e8))


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a release on a sample of its records, encoded as an attacker would."""

    rows: Rows  # the sampled rows of the paired records, sorted
    features: FloatArray  # standardised features of these rows
    encoded: dict[str, EncodedColumn]
    skipped: dict[str, Column]
    place: Rows | None  # the place of every paired record in the file as it was released

    @classmethod
    def of(cls, matched: PairedRelease, *, order_counts: bool, quick: bool, seed: int) -> Columns:
        """Encode every column except the features."""
        release = matched.release
        rng = np.random.default_rng([seed, 0xC01])
        most = _ROWS_QUICK if quick else _ROWS
        rows = np.sort(rng.permutation(len(release))[:most])
        encoded, skipped = encode_released(matched, rows, seed=seed)
        place = matched.place if order_counts else None
        x = release.x[rows]
        return cls(rows, FeatureViews.of(x, seed=seed).see("reduced", x), encoded, skipped, place)

    def alone(
        self, question: Question, *, seed: int, order: row_order.Placed | None = None
    ) -> dict[str, ColumnRead]:
        """What each column, and the row order, reveals of one attribute alone.

        order: rows of the whole file, if these records are only some of it.
        """
        attribute = question.attribute.rows(self.rows)
        least = _floor(question, self.rows, seed)
        found = {}
        for name, one in self.encoded.items():
            if is_copy(one, attribute) or _determines(one, attribute):
                found[name] = _certain(name, one, attribute, least)
                continue
            told = how_well_it_tells(one, attribute, seed=seed)
            if told.tells is None:
                continue
            # All columns together raise a false alarm no more often than one tier does.
            sure = told.chance < min(LEVEL, (1 - SURE) / len(self.encoded))
            found[name] = _read(name, told, attribute, least, sure=sure)
        found |= self._sets(attribute, found, least, seed)
        if self.place is not None:
            level = 1 - LEVEL
            order = order or row_order.Placed(self.place, question.attribute)
            placed = row_order.read_order(
                order.place, order.attribute, floor=least, level=level, seed=seed
            )
            if placed is not None:
                found[row_order.NAME] = placed
        return found

    def _sets(
        self, attribute: Attribute, alone: dict[str, ColumnRead], least: float, seed: int
    ) -> dict[str, ColumnRead]:
        """Pairs and triples of columns that reveal the attribute only together, like an XOR."""
        quiet = {
            n: one
            for n, one in self.encoded.items()
            if n in alone and not alone[n].tells and n != precision.NAME
        }
        for name in list(quiet)[columns_to_pair(quiet, [attribute]) :]:
            del quiet[name]
        found = {}
        for names, told in telling_sets(quiet, [attribute], seed=seed):
            joined = TOGETHER.join(names)
            found[joined] = _read(joined, told, attribute, least, sure=True)
            for name in names:
                del quiet[name]  # report each column in one set only
        return found

    def together(self, question: Question, *, seed: int) -> Tier | None:
        """An attack on all columns and the features, on the parts of the question."""
        if not self.encoded:
            return None
        blocks = [self.features, *(scaled(one.x) for one in self.encoded.values())]
        if self.place is not None:
            blocks.append(scaled(self.place[self.rows, None].astype(np.float32)))
        x = np.concatenate(blocks, axis=1)
        parts = _within(question.parts, self.rows)
        if len(parts.train) < 4 or len(parts.val) < 2 or len(parts.test) < 10:
            return None
        attribute = question.attribute.rows(self.rows)
        outcomes: list[Outcome] = []
        for one in _TOGETHER:
            k = len(attribute.classes)
            if one.declines(len(parts.train), x.shape[1], k) is None:
                outcomes.append(Attack(one.name, one, x, attribute, parts, seed)())
        val, test = attribute.rows(parts.val), attribute.rows(parts.test)
        chosen, _ = choose([Reading.of(o, val) for o in outcomes], val)
        units = None if parts.units is None else parts.units[parts.test]
        seen = None if attribute.multilabel else np.unique(attribute.codes[parts.train])
        found = score(
            chosen.best.test, test, surest=chosen.surest.test, seen=seen, units=units, draws=100
        )
        return Tier(**found.model_dump(), attacker=chosen.best.name)

    def summary(
        self, read: dict[str, dict[str, ColumnRead]], doubts: Mapping[str, str] | None = None
    ) -> tuple[Column, ...]:
        """Every column and what it reveals. doubts: why the attack on a column is not enough."""
        kinds = {n: one.kind for n, one in self.encoded.items()}
        if self.place is not None:
            kinds[row_order.NAME] = "place in the file"
        for columns in read.values():
            kinds |= {name: "columns together" for name in columns if name not in kinds}
        found = []
        for name in kinds:
            tells = {a: columns[name] for a, columns in read.items() if name in columns}
            why = "" if tells or not read else "too few labelled records"
            if not any(one.tells for one in tells.values()):
                why = (doubts or {}).get(name, why)
            found.append(
                Column(
                    name=name,
                    kind=kinds[name],
                    attacked=bool(tells) and not why,
                    why_not=why if read else "no attribute to suppress was named",
                    tells=tells,
                )
            )
        return (*found, *self.skipped.values())


@dataclass(frozen=True, eq=False)
class ColumnsTask:
    """The attack on every column for one attribute. Call it to run it, in any process."""

    columns: Columns
    question: Question
    seed: int
    order: row_order.Placed | None = None

    @property
    def cost(self) -> float:
        """About how many seconds it will take."""
        wide = sum(min(one.x.shape[1], 128) for one in self.columns.encoded.values())
        return float(0.5 + 2e-6 * len(self.columns.rows) * wide)

    def __call__(self) -> tuple[dict[str, ColumnRead], Tier | None]:
        """Attack each column alone, and all together."""
        return (
            self.columns.alone(self.question, seed=self.seed, order=self.order),
            self.columns.together(self.question, seed=self.seed),
        )


def worst_column(found: dict[str, ColumnRead]) -> ColumnRead | None:
    """The column that reveals most, if any surely reveals the attribute."""
    able = [c for c in found.values() if c.sure]
    return max(able, key=lambda c: (c.copy_of, c.least - c.floor), default=None)


def _read(
    name: str, told: Telling, attribute: Attribute, floor: float, *, sure: bool
) -> ColumnRead:
    """What a column or a set of columns reveals, with the best guess without it as the floor."""
    n, guess = int(attribute.known.sum()), max(floor, told.majority)
    return ColumnRead(
        column=name,
        records=n,
        accuracy=told.accuracy,
        ci=wilson(told.accuracy * n, n),
        least=told.lower if sure else min(told.lower, guess),
        floor=guess,
        attacker=told.by,
        bits=max(told.bits, 0.0),
        tells=bool(told.tells) or sure,
    )


def _certain(name: str, one: EncodedColumn, attribute: Attribute, guess: float) -> ColumnRead:
    """The finding for a column that equals or determines the attribute: accuracy 1."""
    n = int(attribute.known.sum())
    return ColumnRead(
        column=name,
        records=n,
        accuracy=1.0,
        ci=(wilson(n, n)[0], 1.0),
        least=max(wilson(n, n)[0], min(guess + 1e-9, 1.0)),
        floor=guess,
        attacker="values",
        copy_of=is_copy(one, attribute),
        tells=True,
    )


def _determines(one: EncodedColumn, attribute: Attribute) -> bool:
    """Whether each value has one class, and values repeat often enough to be evidence."""
    if attribute.multilabel:
        return False
    both = (one.codes >= 0) & attribute.known
    n, values = int(both.sum()), len(np.unique(one.codes[both]))
    if both.sum() < max(20, 0.5 * attribute.known.sum()) or values * 4 > n or values < 2:
        return False
    pairs = np.unique(np.stack([one.codes[both], attribute.codes[both]]), axis=1)
    return bool(pairs.shape[1] == values and len(np.unique(pairs[1])) > 1)


def _floor(question: Question, rows: Rows, seed: int) -> float:
    """The best guess from the preserved labels, on the same records."""
    attribute = question.attribute.rows(rows)
    if attribute.multilabel or not question.given:
        return attribute.majority
    tested = floor(question.attribute, question.given, question.parts)
    given = [a.rows(rows) for a in question.given]
    folds = folds_of(np.flatnonzero(attribute.known), None, seed)
    _, right = guess_without(attribute, given, folds)
    return max(attribute.majority, tested, float(right.mean()) if len(right) else 0.0)


def _within(parts: AttackParts, rows: Rows) -> AttackParts:
    """The parts of a question restricted to `rows`, as positions in `rows`."""
    train, val, test = (
        np.searchsorted(rows, np.intersect1d(part, rows))
        for part in (parts.train, parts.val, parts.test)
    )
    return AttackParts(
        train, val, test, None if parts.units is None else parts.units[rows], parts.note
    )
