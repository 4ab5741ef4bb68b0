"""Counts of parts add up to those of the whole, to the last bit, in memory and as bytes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from withhold.certificate import plan_tally
from withhold.certificate.given_release import ReleaseTally
from withhold.certificate.plan_tally import PlanTally
from withhold.records.attribute import Attribute

CODES, ROWS = 5, 90


def labels(rng: np.random.Generator, *, tags: int) -> Mapping[str, Attribute]:
    """A class, missing for some rows, and a multi-label attribute with the first `tags` tags."""
    s = rng.integers(-1, 3, ROWS)
    has = rng.integers(0, 2, (ROWS, tags)).astype(np.int64)
    return {
        "s": Attribute("s", "categorical", ("a", "b", "c"), s),
        "tags": Attribute("tags", "multilabel", tuple(f"t{i}" for i in range(tags)), has),
    }


@pytest.mark.parametrize("people", [False, True])
def test_tallies_of_parts_make_the_tally_of_all(people: bool) -> None:
    rng = np.random.default_rng(0)
    names = {"suppress": ("s", "tags"), "preserve": ("u",)}
    whole, merged = ReleaseTally(**names), ReleaseTally(**names)
    for tags in (1, 3, 2):  # a batch knows only the tags that occur in it
        found, drawn = labels(rng, tags=tags), rng.integers(0, CODES, ROWS)
        whose = [f"p{i}" for i in rng.integers(0, 9, ROWS)] if people else None
        whole.add(drawn, found, whose)
        part = ReleaseTally(**names)
        part.add(drawn, found, whose)
        sent = ReleaseTally.from_json(part.to_json(), **names)
        merged.merge(sent)
    assert merged.to_json() == whole.to_json()
    assert merged.unknown == {"u"}


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0, 10**6])
def test_sums_of_a_plan_are_the_same_from_parts(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_tally, "_KEPT", kept)
    rng = np.random.default_rng(1)
    whole, merged, sent = PlanTally(("s",)), PlanTally(("s",)), PlanTally(("s",), keep=False)
    for _ in range(4):
        w = rng.dirichlet(np.ones(CODES), ROWS).astype(np.float32)
        found = {"s": labels(rng, tags=1)["s"]}
        told = [str(v) for v in rng.integers(0, 2, ROWS)]
        whole.add(w, found, told)
        part = PlanTally(("s",))
        part.add(w, found, told)
        merged.merge(part)
        sent.merge(PlanTally.from_json(("s",), part.to_json()))
    assert merged.to_json() == whole.to_json() == sent.to_json()
    assert merged.claim("s") == whole.claim("s")
    assert sent.claim("s").one == whole.claim("s").one
