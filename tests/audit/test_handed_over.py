"""What leaves with a release says nothing from which single labels could be computed."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

import withhold as wh
from report.samples import certified_release
from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.coarse_figures import RECORDS, Grid
from withhold.audit.handed_over import handed_over
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
    assert leaves.verdict == whole.verdict or leaves.alarming is whole.alarming
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
        found = wh.audit(data, None, suppress="sex", quick=True, seed=0)
        told = {"seconds", "ladder", "models"}  # these hold times
        return tuple(
            one.attributes["sex"].model_dump_json(exclude=told)
            for one in (found, handed_over(found))
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
