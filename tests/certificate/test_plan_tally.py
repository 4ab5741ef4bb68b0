"""The certificate of a plan, against plans whose figures are known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from withhold.certificate import plan_linked
from withhold.certificate.plan_tally import PlanTally
from withhold.records.attribute import Attribute


@pytest.fixture(autouse=True)
def _little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits are wider with less work, and hold all the same."""
    monkeypatch.setattr(plan_linked, "_WORK", 300_000)


def attribute(codes: np.ndarray) -> Attribute:
    classes = tuple(f"c{i}" for i in range(int(codes.max()) + 1))
    return Attribute("secret", "categorical", classes, codes.astype(np.int64))


def tallied(w: np.ndarray, s: np.ndarray, u: list[str]) -> PlanTally:
    found = PlanTally(["secret"])
    found.add(w.astype(np.float32), {"secret": attribute(s)}, u)
    return found


def test_a_code_that_serves_two_preserved_values_counts_apart_for_each() -> None:
    # Given the value, the code names the class; summed over the values, it says nothing.
    s = np.tile([0, 0, 1, 1], 50)
    u = ["a", "b"] * 100
    code = np.array([0, 1, 1, 0] * 50)
    claim = tallied(np.eye(2)[code], s, u).claim("secret")
    assert claim is not None
    assert claim.one == pytest.approx(1.0)
    assert all(value == pytest.approx(1.0) for value in claim.linked.values())


def test_a_balanced_plan_gives_the_floor_however_its_sums_round() -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(0, 4, 42)
    u = [str(v) for v in rng.integers(0, 3, 42)]
    b = rng.dirichlet(np.ones(7))
    claim = tallied(np.tile(b, (42, 1)), s, u).claim("secret")
    assert claim is not None
    count = dict.fromkeys(product(range(4), "012"), 0)
    for pair in zip(s.tolist(), u, strict=True):
        count[pair] += 1
    floor = sum(max(count[k, v] for k in range(4)) for v in "012") / 42
    assert claim.one >= floor
    assert claim.one == pytest.approx(floor)


def test_batches_give_the_same_claim_as_all_rows_at_once() -> None:
    rng = np.random.default_rng(1)
    w, s = rng.dirichlet(np.ones(5), 90), rng.integers(0, 3, 90)
    u = [str(v) for v in rng.integers(0, 2, 90)]
    whole = tallied(w, s, u).claim("secret")
    parts = PlanTally(["secret"])
    for at in range(0, 90, 30):
        part = slice(at, at + 30)
        parts.add(w[part].astype(np.float32), {"secret": attribute(s[part])}, u[part])
    again = parts.claim("secret")
    assert whole is not None
    assert again is not None
    assert again.one == pytest.approx(whole.one)
    assert again.linked == pytest.approx(whole.linked)
