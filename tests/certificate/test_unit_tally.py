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
        self.sex[:2] = 0, 1  # both classes
        pairs = [
            (p, u) for p in range(people) for u in range(values) if u == 0 or rng.random() < 0.6
        ]
        self.whose, self.u = (np.array(v) for v in zip(*pairs, strict=True))
        self.size = rng.integers(1, rows, len(pairs))
        self.w = rng.dirichlet(np.full(CODES, 0.7), len(pairs)).astype(np.float32)
        self.unit = rng.permutation(np.repeat(np.arange(len(pairs)), self.size))
        self.codes = np.array([rng.choice(CODES, p=w / w.sum()) for w in self.w.astype(float)])

    def tally(self, start: int = 0, stop: int | None = None) -> UnitTally:
        rows, made = self.unit[start:stop], UnitTally(["sex"])
        sex = Attribute("sex", "categorical", ("f", "m"), self.sex[self.whose[rows]])
        made.add(rows, {"sex": sex}, [str(v) for v in self.u[rows]], self.codes[rows])
        return made

    def claim(self):
        found = self.tally().claim("sex", self.w, self.whose, column="id")
        assert found is not None
        return found

    def best(self, seen, *, by: str = "rows") -> float:
        """The best attacker who sees `seen(unit) -> (what, probability)` of one who is picked.

        by: a row, a unit or a person is picked at random.
        """
        right: dict[object, np.ndarray] = {}
        for k in range(len(self.w)):
            weight = self.size[k]
            if by != "rows":
                own = self.whose == self.whose[k]
                weight = 1.0 if by == "units" else 1.0 / own.sum()
            for what, chance in seen(k):
                own = right.setdefault(what, np.zeros(2))
                own[self.sex[self.whose[k]]] += weight * chance
        total = {"rows": len(self.unit), "units": len(self.w), "people": len(np.unique(self.whose))}
        return sum(v.max() for v in right.values()) / total[by]

    def whole(self, k):
        """All that an attacker sees of the person of unit k."""
        own = np.flatnonzero(self.whose == self.whose[k])
        for codes in product(range(CODES), repeat=len(own)):
            chance = np.prod([self.w[i, j] for i, j in zip(own, codes, strict=True)])
            yield (
                tuple((self.u[i], self.size[i], j) for i, j in zip(own, codes, strict=True)),
                chance,
            )


def _all_codes(drawn: Drawn, k):
    own = np.flatnonzero(drawn.whose == drawn.whose[k])
    return tuple((drawn.u[i], drawn.size[i], drawn.codes[i]) for i in own)


@pytest.mark.parametrize("seed", range(12))
def test_figures_are_those_of_the_best_attacker(seed: int) -> None:
    drawn = Drawn(seed)
    claim, w = drawn.claim(), drawn.w
    person = claim.person
    assert person is not None
    one = drawn.best(lambda k: [((drawn.u[k], j), w[k, j]) for j in range(CODES)])
    assert claim.one == pytest.approx(one, abs=1e-6)
    coded = lambda k: [((drawn.u[k], drawn.size[k], j), w[k, j]) for j in range(CODES)]  # noqa: E731
    bare = lambda k: [((drawn.u[k], drawn.size[k]), 1.0)]  # noqa: E731
    picks = [(drawn.best(bare, by=by), drawn.best(coded, by=by)) for by in ("rows", "units")]
    assert person.unit == pytest.approx(max(claim.one, *(f for _, f in picks)), abs=1e-6)
    most = max(picks, key=lambda p: (round(p[1] - p[0], 5), p[1]))  # what the codes add
    assert person.unit_floor == pytest.approx(most[0], abs=1e-6)
    pattern = lambda k: [(tuple(x[:2] for x in next(drawn.whole(k))[0]), 1.0)]  # noqa: E731
    wholes = [
        (drawn.best(pattern, by=by), drawn.best(drawn.whole, by=by)) for by in ("rows", "people")
    ]
    truth = max(f for _, f in wholes)
    assert person.all_rows is not None
    # With the error of the Monte Carlo.
    assert truth - 1e-6 <= person.all_rows <= max(truth, person.unit) + 0.03
    assert any(person.floor == pytest.approx(floor, abs=1e-9) for floor, _ in wholes)
    table = lambda k: [(_all_codes(drawn, k), 1.0)]  # noqa: E731
    beside = max(drawn.best(table, by=by) for by in ("rows", "people"))
    assert person.beside == pytest.approx(max(beside, person.all_rows), abs=1e-9)
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


def test_few_people_with_most_of_the_rows_do_not_hide_the_others() -> None:
    """Of 40 people everyone is named by the code, of 4 with 500 rows each nobody is."""
    sex = np.arange(44) % 2
    size = np.where(np.arange(44) < 40, 1, 500)
    w = np.full((44, 2), 0.5, np.float32)
    w[:40] = np.eye(2, dtype=np.float32)[sex[:40]]
    unit, made = np.repeat(np.arange(44), size), UnitTally(["sex"])
    label = Attribute("sex", "categorical", ("f", "m"), sex[unit])
    made.add(unit, {"sex": label}, [""] * len(unit), np.zeros(len(unit), np.int64))
    claim = made.claim("sex", w, np.arange(44), column="id")
    assert claim is not None
    assert claim.person is not None
    assert claim.one == pytest.approx((40 + 1000) / 2040)
    assert claim.person.all_rows == pytest.approx((40 + 2) / 44)
    assert claim.person.floor == pytest.approx(0.5)


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
    made.add(
        drawn.unit, {"sex": sex}, [str(v) for v in drawn.u[drawn.unit]], drawn.codes[drawn.unit]
    )
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
    made.add(
        drawn.unit, {"sex": sex}, [str(v) for v in drawn.u[drawn.unit]], drawn.codes[drawn.unit]
    )
    claim = made.claim("sex", drawn.w, drawn.whose, column="id")
    assert claim is not None
    assert claim.person is not None
    assert claim.person.reason == "some people have rows with and without a label"
