"""What leaves with a release says nothing from which single labels could be computed."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

import withhold as wh
from report.pieces import column, found, given, tier, wide
from report.samples import certified_release
from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.checked_certificate import CertifiedRows
from withhold.audit.coarse_figures import coarse
from withhold.audit.findings import AllRows, SliceRead
from withhold.audit.handed_over import handed_over
from withhold.certificate.claims import PlanClaim
from withhold.core.coarse_grid import RECORDS, Grid
from withhold.records.dataset import Dataset
from withhold.report.page import render


def test_no_figure_of_two_original_columns_leaves() -> None:
    whole = certified_release()
    assert whole.feasibility.pairs
    leaves = handed_over(whole)
    told = json.loads(leaves.json_bytes())["feasibility"]
    assert not any(told[name] for name in ("pairs", "entropy", "majority"))
    page = render(leaves)
    assert "is not handed over" in page
    assert "Bits that two attributes share" not in page
    assert "Bits that two attributes share" in render(whole)


@pytest.mark.parametrize("records", [40, 120, 999, 16_000])
def test_one_label_seldom_changes_a_figure(records: int) -> None:
    """Of all counts of right guesses, one in ten at most is next to a boundary of its step."""
    grid = Grid.of(records)
    shown = [grid.near(right / records) for right in range(records + 1)]
    changes = sum(a != b for a, b in pairwise(shown))
    assert changes <= records / RECORDS + 1


def test_figures_of_suppressed_attributes_leave_in_steps_with_the_same_conclusions() -> None:
    whole = certified_release()
    leaves = handed_over(whole)
    assert leaves.alarming is whole.alarming
    for name, a in whole.suppressed.items():
        left = leaves.attributes[name]
        assert left.status == a.status
        assert left.blind is a.blind
        assert left.sure == a.sure
        assert not left.ladder
        assert not left.models
        grid = Grid.of(a.records)
        for value in figures(left):
            assert value / grid.step == pytest.approx(round(value / grid.step), abs=1e-3)
    text = leaves.json_bytes().decode()
    for a in whole.suppressed.values():
        for value in figures(a):
            if len(repr(value)) > 6:
                assert repr(value) not in text


@pytest.mark.slow
def test_whoever_knows_all_other_labels_cannot_try_the_last_one() -> None:
    """The same audit with one label changed: every digit tells, the steps seldom do."""
    rng = np.random.default_rng(0)
    n = 600
    s = rng.integers(0, 2, n)
    x = (rng.normal(size=(n, 5)) + 0.8 * s[:, None]).astype(np.float32)

    def audited(labels: npt.NDArray[np.int64]) -> tuple[str, str]:
        data = Dataset.from_arrays(x, {"sex": np.array(["a", "b"])[labels]})
        whole = wh.audit(data, None, suppress="sex", quick=True, seed=0)
        told = {"seconds", "ladder", "models"}  # these hold times
        return tuple(
            one.attributes["sex"].model_dump_json(exclude=told)
            for one in (whole, handed_over(whole))
        )

    exact, steps = audited(s)
    assert audited(s) == (exact, steps)  # so the audit can be run again by anyone
    changed = []
    for person in rng.permutation(n)[:8]:
        other = s.copy()
        other[person] = 1 - other[person]
        again = audited(other)
        assert again[0] != exact
        changed.append(again[1] != steps)
    assert np.mean(changed) <= 0.5


def figures(a: AttributeEvidence) -> list[float]:
    tiers = [a.original, a.informed, a.ignorant, a.columns, *a.linked.values()]
    return [a.floor, a.majority, *(t.accuracy for t in tiers if t is not None)]


def test_no_distance_of_a_record_to_its_release_leaves() -> None:
    """Whoever holds the originals computes all distances; the largest one shows whose row it is."""
    whole = certified_release()
    assert whole.distortion is not None
    left = handed_over(whole).distortion
    assert left is not None
    assert left.edges == left.counts == ()
    for value in (left.mean, left.relative):
        assert value == float(f"{value:.2g}")


def test_other_attributes_leave_in_steps_too() -> None:
    """Their test part is drawn by the suppressed labels, from the records that were not held back;
    notes of the audit name values that a single record has."""
    note = "no record of train has pay '768': no attacker can name test records of these classes"
    whole = certified_release()
    other = next(n for n in whole.attributes if n not in whole.suppressed)
    told = whole.attributes[other].model_copy(update={"notes": (note,), "entropy_bits": 5.42051})
    whole = whole.model_copy(update={"attributes": {**whole.attributes, other: told}})
    leaves = handed_over(whole)
    assert "768" in render(whole)
    assert "768" not in render(leaves) + leaves.json_bytes().decode()
    a = leaves.attributes[other]
    assert (a.status, a.destroyed) == (told.status, told.destroyed)
    assert a.entropy_bits == 5.4
    grid = Grid.of(told.records)
    for value in figures(a):
        assert value / grid.step == pytest.approx(round(value / grid.step), abs=1e-3)


@pytest.mark.parametrize("informed", [0.05, 0.11, 0.12, 0.14, 0.16, 0.2])
@pytest.mark.parametrize("original", [0.3, 0.72])
def test_rounding_does_not_change_what_was_destroyed(informed: float, original: float) -> None:
    """60 test records: a step is a sixth, and the guess of 7 % is rounded to nothing."""
    one = found("hidden", informed=informed, original=original, majority=0.067, floor=0.067, n=60)
    assert Grid.of(one.records).step == pytest.approx(1 / 6)
    left = coarse(one)
    assert (left.destroyed, left.blind, left.status) == (one.destroyed, one.blind, one.status)


def test_the_limits_of_a_slice_do_not_leave() -> None:
    """A tree learned them from the labels."""
    rule = SliceRead(
        records=43, accuracy=0.7, ci=(0.5, 0.9), least=0.4, floor=0.5, attacker="trees",
        by="features", value="records with pay.0 > 0.7281", share=43 / 540,
    )  # fmt: skip
    whole = certified_release()
    name = next(iter(whole.suppressed))
    told = whole.attributes[name].model_copy(update={"subgroup": rule})
    leaves = handed_over(whole.model_copy(update={"attributes": {**whole.attributes, name: told}}))
    left = leaves.attributes[name].subgroup
    assert left is not None
    assert left.records == 40
    assert "0.7281" not in render(leaves) + leaves.json_bytes().decode()
    assert repr(43 / 540) not in leaves.json_bytes().decode()


def test_no_share_and_no_number_of_labelled_rows_leaves() -> None:
    """Whoever knows all other labels of the rows that left subtracts: the majority of these rows
    gives the last label, and their number whether it has one."""
    whole = certified_release()
    name = next(iter(whole.suppressed))
    said = "preserving 'city' lets anyone guess 'sex' right in 84.3 % (majority 50.9 %)"
    told = whole.attributes[name].model_copy(update={"records": 6007})
    whole = whole.model_copy(
        update={
            "attributes": {**whole.attributes, name: told},
            "feasibility": replace(whole.feasibility, warnings=(said,), ceiling={"digit": 0.9637}),
            "columns": (column("age", **{name: 0.5}),),
            "settings": {**whole.settings, "used": {name: [18_017, 6003, 6007]}},
        }
    )
    leaves = handed_over(whole)
    assert leaves.feasibility.warnings == ()
    assert leaves.feasibility.ceiling == {"digit": 0.96}
    assert "used" not in leaves.settings
    a = leaves.attributes[name]
    counts = [a.records, *(c.tells[name].records for c in leaves.columns)]
    assert a.all_rows is not None
    assert all(number % RECORDS == 0 for number in (*counts, a.all_rows.records))
    assert Grid.of(46) == Grid.of(40)
    text = render(leaves) + leaves.json_bytes().decode()
    assert "50.9" not in text
    assert "6007" not in text
    assert "6,007" not in text


@pytest.mark.parametrize("n", [54, 230, 6000])
@pytest.mark.parametrize("planned", [True, False])
def test_steps_do_not_change_which_attacks_exceed_the_certificate(n: int, planned: bool) -> None:
    """The floor of 54 test records is rounded by up to nine points, the certificate is not: an
    attack that is no better than guessing must not look as if it beat the proof, nor the other
    way round."""
    rng = np.random.default_rng(n)
    seen = set()
    for _ in range(200):
        bound = float(rng.uniform(0.3, 0.9))
        floor = float(np.clip(bound + rng.choice([-0.3, -0.02, 0, 0, 0.02, 0.1]), 0.01, 1))
        informed, every = (float(min(floor + d, 1)) for d in rng.choice([0, 0.05, 0.2, 0.4], 2))
        plan = PlanClaim(one=bound, linked={}, unequal=0.0) if planned else None
        one = found(
            "suppress", informed=informed, original=0.99, classes=2, majority=floor, floor=floor,
            ignorant=None, n=n, columns=tier(every, n=n),
            all_rows=AllRows(**wide(every, floor, n=n), part="all"),
            certificate=CertifiedRows(
                checked=True, release=given(one=bound, floor=floor, plan=plan), verified=planned
            ),
        )  # fmt: skip
        left = coarse(one)
        assert left.contradicted is one.contradicted
        assert left.beyond_codes(bound) == one.beyond_codes(bound)
        assert (left.status, left.sure) == (one.status, one.sure)
        seen.add((one.contradicted, one.beyond_codes(bound), one.status))
    assert len(seen) > 3
