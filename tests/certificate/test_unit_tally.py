"""The claims of a plan in which people draw, beside figures that are enumerated."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest

from withhold.certificate import plan_tally
from withhold.certificate.plan_linked import plan_linked
from withhold.certificate.unit_tally import UnitTally
from withhold.records.attribute import Attribute

CODES = 3


class Drawn:
    """People of two classes, some with units of two preserved values, and their rows."""

    def __init__(self, seed: int, *, people: int = 10, rows: int = 3, values: int = 2) -> None:
        rng = np.random.default_rng(seed)
        self.sex = rng.integers(0, 2, people)
        pairs = [
            (p, u) for p in range(people) for u in range(values) if u == 0 or rng.random() < 0.6
        ]
        self.whose, self.u = (np.array(v) for v in zip(*pairs, strict=True))
        self.size = rng.integers(1, rows, len(pairs))
        self.w = rng.dirichlet(np.full(CODES, 0.7), len(pairs)).astype(np.float32)
        self.unit = rng.permutation(np.repeat(np.arange(len(pairs)), self.size))

    def tally(self, start: int = 0, stop: int | None = None) -> UnitTally:
        rows, made = self.unit[start:stop], UnitTally(["sex"])
        sex = Attribute("sex", "categorical", ("f", "m"), self.sex[self.whose[rows]])
        made.add(rows, {"sex": sex}, [str(v) for v in self.u[rows]])
        return made

    def claim(self):
        found = self.tally().claim("sex", self.w, self.whose, column="id")
        assert found is not None
        return found

    def best(self, seen) -> float:
        """The best attacker who sees `seen(unit) -> (what, probability)` of a random row."""
        right: dict[object, np.ndarray] = {}
        for k in self.unit:
            for what, chance in seen(k):
                own = right.setdefault(what, np.zeros(2))
                own[self.sex[self.whose[k]]] += chance
        return sum(v.max() for v in right.values()) / len(self.unit)

    def whole(self, k):
        """All that an attacker sees of the person of unit k."""
        own = np.flatnonzero(self.whose == self.whose[k])
        for codes in product(range(CODES), repeat=len(own)):
            chance = np.prod([self.w[i, j] for i, j in zip(own, codes, strict=True)])
            yield (
                tuple((self.u[i], self.size[i], j) for i, j in zip(own, codes, strict=True)),
                chance,
            )


@pytest.mark.parametrize("seed", range(12))
def test_figures_are_those_of_the_best_attacker(seed: int) -> None:
    drawn = Drawn(seed)
    if len(np.unique(drawn.sex)) < 2:
        pytest.skip("one class")
    claim, w = drawn.claim(), drawn.w
    person = claim.person
    assert person is not None
    one = drawn.best(lambda k: [((drawn.u[k], j), w[k, j]) for j in range(CODES)])
    assert claim.one == pytest.approx(one, abs=1e-6)
    seen = drawn.best(lambda k: [((drawn.u[k], drawn.size[k], j), w[k, j]) for j in range(CODES)])
    assert person.unit == pytest.approx(seen, abs=1e-6)
    assert person.unit_floor == pytest.approx(
        drawn.best(lambda k: [((drawn.u[k], drawn.size[k]), 1.0)]), abs=1e-9
    )
    truth = drawn.best(drawn.whole)
    assert person.all_rows is not None
    assert truth - 1e-6 <= person.all_rows <= truth + 0.02  # with the error of the Monte Carlo
    pattern = {k: [(tuple(x[:2] for x in next(drawn.whole(k))[0]), 1.0)] for k in drawn.unit}
    assert person.floor == pytest.approx(drawn.best(pattern.__getitem__), abs=1e-9)
    assert claim.one <= person.unit <= person.all_rows
    assert person.draws == len(w)
    assert person.people == 10


@pytest.mark.slow
def test_several_rows_of_one_class_are_rows_of_different_units() -> None:
    drawn = Drawn(3, people=60, rows=9, values=1)
    claim = drawn.claim()
    s = drawn.sex[drawn.whose]
    assert claim.linked["5"] == pytest.approx(max(plan_linked(drawn.w, s, 5), claim.one))
    # If rows drew by themselves, as many rows of one person would count as separate.
    by_rows = plan_linked(drawn.w[drawn.unit], s[drawn.unit], 5)
    assert abs(claim.linked["5"] - by_rows) > 1e-3


def test_with_one_value_all_rows_of_a_person_are_one_draw() -> None:
    person = Drawn(1, people=40, values=1).claim().person
    assert person is not None
    assert person.all_rows == pytest.approx(person.unit, abs=1e-9)
    assert person.floor == pytest.approx(person.unit_floor, abs=1e-9)


def test_parts_make_the_claim_of_all_also_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_tally, "_KEPT", 0)  # no samples for several rows
    drawn = Drawn(2, people=30)
    merged = UnitTally(["sex"])
    for start in range(0, len(drawn.unit), 11):
        part = drawn.tally(start, start + 11).to_json()
        merged.merge(UnitTally.from_json(["sex"], json.loads(json.dumps(part))))
    assert merged.claim("sex", drawn.w, drawn.whose, column="id") == drawn.claim()


def test_people_of_several_classes_have_no_figure_for_all_rows() -> None:
    drawn = Drawn(4)
    made = UnitTally(["sex"])
    sex = Attribute("sex", "categorical", ("f", "m"), drawn.unit % 2)
    made.add(drawn.unit, {"sex": sex}, [str(v) for v in drawn.u[drawn.unit]])
    claim = made.claim("sex", drawn.w, drawn.whose, column="id")
    assert claim is not None
    assert claim.person is not None
    assert claim.person.all_rows is None
    assert claim.person.reason == "some people have rows of several classes"


def test_people_with_rows_of_no_label_have_no_figure_for_all_rows() -> None:
    """Their other rows are draws as well, which the figure would not count."""
    drawn = Drawn(5)
    codes = np.where(drawn.u[drawn.unit] == 1, -1, drawn.sex[drawn.whose[drawn.unit]])
    made = UnitTally(["sex"])
    sex = Attribute("sex", "categorical", ("f", "m"), codes)
    made.add(drawn.unit, {"sex": sex}, [str(v) for v in drawn.u[drawn.unit]])
    claim = made.claim("sex", drawn.w, drawn.whose, column="id")
    assert claim is not None
    assert claim.person is not None
    assert claim.person.reason == "some people have rows with and without a label"
