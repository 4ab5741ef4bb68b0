"""The theorem of `exact`: every class uses every code in the same share of the fitted records."""

from __future__ import annotations

import json

import numpy as np
import pytest

from methods.features.exact.planned import (
    draws_of,
    fitted,
    labels,
    plan_of,
    texts,
    unequal,
    with_missing,
    world,
)
from support import Recorder
from withhold.certificate import plan_tally
from withhold.certificate.given_release import preserved_names
from withhold.certificate.plan_tally import PlanTally
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset

EXACT = 1e-6


def made_worlds() -> dict[str, tuple[Dataset, str, str]]:
    """Worlds by name, with the columns to suppress and to preserve."""
    even = world((130, 130, 140), seed=1)
    return {
        "features": (even, "who", ""),
        "preserved": (even, "who", "word"),
        "two preserved": (even, "who", "word,side"),
        "unequal": (world((300, 80, 40), seed=2), "who", ""),
        "unequal and preserved": (world((300, 80, 40), seed=3), "who", "side"),
        "missing": (with_missing(even, "who", every=7), "who", ""),
        "missing preserved": (with_missing(even, "word", every=5), "who", "word"),
        "joint": (even, "who,side", ""),
        "joint and preserved": (even, "who,side", "word"),
    }


WORLDS = made_worlds()


def named(text: str) -> list[str]:
    return text.split(",") if text else []


@pytest.mark.parametrize("name", WORLDS)
def test_every_class_uses_every_code_in_the_same_share(name: str) -> None:
    data, suppress, preserve = WORLDS[name]
    modifier = fitted(data, suppress, preserve)
    w = plan_of(modifier, data)
    assert w.min() >= 0
    np.testing.assert_allclose(w.sum(axis=1), 1, atol=1e-6)
    assert len(modifier.codes) >= 4
    assert unequal(w, texts(data, *named(suppress)), texts(data, *named(preserve))) < EXACT
    # A plan that ignores the records would do that as well, and keep nothing.
    assert w.max(axis=1).mean() > 1.5 * w.mean(axis=0).max()


@pytest.mark.parametrize("seed", range(4))
def test_random_worlds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = tuple(int(k) for k in rng.integers(15, 150, int(rng.integers(2, 6))))
    data = world(sizes, int(rng.integers(1, 4)), seed=seed)
    preserve = ["", "word"][seed % 2]
    modifier = fitted(data, "who", preserve, seed=seed, codes=None, each=8, least=2)
    w = plan_of(modifier, data)
    assert unequal(w, texts(data, "who"), texts(data, *named(preserve))) < EXACT


def test_network_scores_are_balanced_too() -> None:
    data = world((90, 60), seed=4)
    modifier = fitted(data, scores="network", codes=6, hidden=(16,), least=2)
    assert modifier.plan.reader.kind == "network"
    assert unequal(plan_of(modifier, data), texts(data, "who"), texts(data)) < EXACT


def test_a_class_of_one_record_draws_by_the_shares_alone() -> None:
    data = world((200, 150, 1), seed=5)
    modifier = fitted(data, smallest=1, codes=None, each=10)
    w, classes = plan_of(modifier, data), np.array(texts(data, "who"))
    alone = w[classes == "('p2',)"]
    assert len(alone) == 1
    np.testing.assert_allclose(alone[0], w.mean(axis=0), atol=EXACT)
    assert unequal(w, list(classes), texts(data)) < EXACT


def test_merged_classes_are_balanced_as_one_and_named() -> None:
    data = world((200, 150, 1, 2), seed=6)
    told = Recorder()
    modifier = fitted(data, codes=None, each=10, smallest=5, progress=told)
    assert modifier.classes == ('["p0"]', '["p1"]', "(rest)")
    classes = ["rest" if c in ("('p2',)", "('p3',)") else c for c in texts(data, "who")]
    assert unequal(plan_of(modifier, data), classes, texts(data)) < EXACT
    assert "2 joint classes of who with fewer than 5 records are merged" in told.text


def test_one_small_class_is_not_merged_with_anything() -> None:
    data = world((200, 150, 2), seed=6)
    told = Recorder()
    modifier = fitted(data, codes=None, each=10, smallest=5, progress=told)
    assert modifier.classes == ('["p0"]', '["p1"]', '["p2"]')
    assert unequal(plan_of(modifier, data), texts(data, "who"), texts(data)) < EXACT
    assert "merged" not in told.text
    assert "1 class has fewer than 10 records (p2)" in told.text


def test_a_value_of_few_records_is_refused_unless_the_owner_says_what_to_do() -> None:
    with pytest.raises(UserError) as told:
        fitted(world((200, 150, 1, 4, 5), seed=6), codes=None)
    line = str(told.value)
    assert "\n" not in line
    assert "values of 'who' are in fewer than 5 of 360 records ('p2' in 1, 'p3' in 4)" in line
    assert "merge them into another class, drop their records, or add --set smallest=1" in line


def test_many_values_of_few_records_are_to_be_binned() -> None:
    with pytest.raises(UserError, match=r"'p1' in 3, 'p10' in 3, 'p11' in 3 and 9 more.*bin it"):
        fitted(world((200, *[3] * 12), seed=6), codes=None)


def test_few_missing_labels_are_no_reason_to_refuse() -> None:
    data = with_missing(world((150, 150), seed=7), "who", every=100)
    told = Recorder()
    modifier = fitted(data, codes=None, progress=told)
    assert [json.loads(c)[0] for c in modifier.classes] == ["p0", "p1", "(missing)"]
    assert "3 records have no label of 'who': they are a class of their own" in told.text


def test_small_combinations_of_two_attributes_are_merged() -> None:
    data = world((200, 6, 6), words=4, seed=9)
    told = Recorder()
    modifier = fitted(data, "who,word", codes=None, progress=told)
    assert "(rest)" in modifier.classes
    assert "are merged" in told.text


def test_missing_labels_are_a_class_and_said() -> None:
    data = with_missing(world((150, 150), seed=7), "who", every=6)
    told = Recorder()
    modifier = fitted(data, progress=told)
    assert [json.loads(c)[0] for c in modifier.classes] == ["p0", "p1", "(missing)"]
    assert "50 records have no label of 'who': they are a class of their own" in told.text


def test_a_label_that_reads_like_a_missing_one_is_another_class() -> None:
    data = world((150, 150), seed=8)
    table = {c: data.table[c].to_pylist() for c in data.table.column_names}
    table["who"] = [
        None if i % 6 == 0 else "(missing)" if i % 6 == 1 else v for i, v in enumerate(table["who"])
    ]
    data = Dataset.from_arrays(data.x, table, name="world")
    modifier = fitted(data)
    assert len(set(modifier.classes)) == 4
    assert unequal(plan_of(modifier, data), texts(data, "who"), texts(data)) < EXACT


@pytest.mark.parametrize("name", ["features", "preserved", "unequal", "missing"])
def test_the_plan_of_the_certificate_is_the_floor(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`plan.one` is the best guess from the preserved labels alone, counted here by hand."""
    monkeypatch.setattr(plan_tally, "_KEPT", 0)  # no samples for several rows: not asked for here
    data, suppress, preserve = WORLDS[name]
    modifier = fitted(data, suppress, preserve)
    own = labels(modifier, data)
    tally = PlanTally([suppress])
    told = preserved_names([own[n] for n in named(preserve)], len(data))
    w = modifier.probabilities(data.x, own)
    for start in (0, 150):  # in two batches
        at = np.arange(start, 150 if start == 0 else len(data))
        part = {n: a.rows(at) for n, a in own.items()}
        tally.add(w[at], part, [told[i] for i in at])
    claim = tally.claim(suppress)
    assert claim is not None
    s, u = data.table[suppress].to_pylist(), texts(data, *named(preserve))
    pairs = [(a, b) for a, b in zip(s, u, strict=True) if a is not None]
    best = sum(max(pairs.count((a, b)) for a in set(s) - {None}) for b in set(u))
    assert claim.one == pytest.approx(best / len(pairs), abs=EXACT)
    assert claim.unequal < EXACT


def test_the_tally_sees_a_plan_that_is_not_balanced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_tally, "_KEPT", 0)
    data = world((100, 100), seed=9)
    w = np.full((200, 4), 0.25, np.float32)
    w[np.array(data.table["who"].to_pylist()) == "p0"] = [0.4, 0.3, 0.2, 0.1]
    tally = PlanTally(["who"])
    tally.add(w, {"who": data.attribute("who")}, [""] * 200)
    claim = tally.claim("who")
    assert claim is not None
    assert claim.one == pytest.approx((0.4 + 0.3 + 0.25 + 0.25) / 2, abs=1e-6)
    assert claim.unequal == pytest.approx(0.075, abs=1e-6)


@pytest.mark.parametrize(("codes", "least"), [(30, 1), (30, 5), (12, 20)])
def test_every_code_has_enough_people_behind_it(codes: int, least: int) -> None:
    data = world((150, 150), seed=10)
    modifier = fitted(data, codes=codes, least=least)
    count = np.bincount(draws_of(modifier, data), minlength=len(modifier.codes))
    assert count.min() >= least


def test_people_of_a_group_count_once() -> None:
    data = world((150, 150), seed=11)
    rng = np.random.default_rng(0)
    table = {c: data.table[c].to_pylist() for c in data.table.column_names}
    person = rng.integers(0, 40, 300)
    table["person"] = [f"n{p}" for p in person]
    grouped = Dataset.from_arrays(data.x, table, name="world", group="person")
    modifier = fitted(grouped, least=8)
    drawn = draws_of(modifier, grouped)
    assert min(len(set(person[drawn == j])) for j in range(len(modifier.codes))) >= 8
