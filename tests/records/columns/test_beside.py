"""Columns beside a released code: what they add to it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from withhold.records.attribute import Attribute
from withhold.records.columns import encode_column, measure_columns
from withhold.records.columns.beside import tells_beside

N = 2000


def test_a_column_that_tells_only_beside_the_code() -> None:
    """The secret is the parity of code and flag: each alone is independent of it."""
    rng = np.random.default_rng(0)
    code, flag, other = rng.integers(0, 20, N), rng.integers(0, 2, N), rng.integers(0, 3, N)
    wrong = rng.random(N) < 0.3
    s = Attribute("secret", "categorical", ("a", "b"), (code + flag + wrong) % 2)
    table = pa.table({"flag": flag, "other": other})
    assert all(m.harmless for m in measure_columns(table, [s]).values())
    found = measure_columns(table, [s], code=code)
    assert found["flag"].reason == "tells 'secret' together with the code"
    assert found["other"].harmless


def test_a_code_that_tells_makes_no_other_column_tell() -> None:
    """The secret follows from the code; columns that are independent of both add nothing."""
    alarms = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        code = rng.integers(0, 12, 400)
        s = Attribute("secret", "categorical", ("a", "b"), (rng.random(400) < code / 12) * 1)
        column = encode_column(pa.array(rng.integers(0, 2 + seed % 5, 400)))
        alarms += bool(tells_beside(code, {"c": column}, [s]))
    assert alarms <= 3
