"""Columns that tell in pairs and triples, wherever they stand among others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from withhold.records.attribute import Attribute
from withhold.records.columns import together
from withhold.records.columns.measure_columns import measure_columns

N = 2000


def flags(rng: np.random.Generator, count: int) -> dict[str, pa.Array]:
    return {f"c{i:02d}": pa.array(rng.integers(0, 2, N)) for i in range(count)}


def secret(codes: np.ndarray) -> Attribute:
    return Attribute("secret", "categorical", ("a", "b"), codes)


def test_the_last_pair_of_many_columns_is_tried() -> None:
    rng = np.random.default_rng(0)
    s, a = rng.integers(0, 2, (2, N))
    table = pa.table(flags(rng, 38) | {"z0": pa.array(a), "z1": pa.array(a ^ s)})
    found = measure_columns(table, [secret(s)])
    left_out = {n: m for n, m in found.items() if not m.harmless}
    assert len({"z0", "z1"} & set(left_out)) == 1
    assert len(left_out) <= 2  # one false alarm has a chance of about 0.4 %
    assert all(m.rule in ("together", "tells") for m in left_out.values())


def test_triples_are_tried_among_more_than_a_few_columns() -> None:
    rng = np.random.default_rng(1)
    s, a, b = rng.integers(0, 2, (3, N))
    more = {"z0": pa.array(a), "z1": pa.array(b), "z2": pa.array(a ^ b ^ s)}
    found = measure_columns(pa.table(flags(rng, 17) | more), [secret(s)])
    left_out = [n for n, m in found.items() if not m.harmless]
    assert len({"z0", "z1", "z2"} & set(left_out)) == 1
    assert len(left_out) <= 2


def test_columns_that_cannot_be_tried_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "PAIRS", 45)  # the pairs of ten columns
    rng = np.random.default_rng(2)
    s, a = rng.integers(0, 2, (2, N))
    table = pa.table(flags(rng, 10) | {"z0": pa.array(a), "z1": pa.array(a ^ s)})
    found = measure_columns(table, [secret(s)])
    assert found["z0"].rule == found["z1"].rule == "untried"
    assert "could not be checked" in found["z0"].reason
    assert sum(m.harmless for m in found.values()) >= 9
