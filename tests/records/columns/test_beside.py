"""Columns beside a released code: what they add to it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from withhold.records.attribute import Attribute
from withhold.records.columns.beside import tells_beside
from withhold.records.columns.column_encoding import encode_column
from withhold.records.columns.measure_columns import measure_columns

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
    assert found["flag"].reason == "reveals 'secret' together with the code"
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


def code_world(seed: int = 0) -> tuple[np.ndarray, np.ndarray, Attribute]:
    """A code that shows u, and a secret that is independent of u: (code, secret XOR u, secret)."""
    rng = np.random.default_rng(seed)
    code, s = rng.integers(0, 12, N), rng.integers(0, 2, N)
    return code, s ^ (code % 2), Attribute("secret", "categorical", ("a", "b"), s)


def test_values_of_a_column_count_one_by_one_beside_the_code() -> None:
    """80 numbers whose parity, and 30 wards whose parity, is the secret XOR what the code shows."""
    rng = np.random.default_rng(1)
    code, mixed, s = code_world()
    visit = 2 * rng.integers(0, 40, N) + mixed
    ward = [f"w{v:02d}" for v in 2 * rng.integers(0, 15, N) + mixed]
    found = measure_columns(pa.table({"visit": visit, "ward": ward}), [s], code=code)
    assert not found["visit"].harmless
    assert not found["ward"].harmless


def test_two_columns_that_tell_beside_the_code_alone() -> None:
    rng = np.random.default_rng(2)
    code, mixed, s = code_world()
    p = rng.integers(0, 2, N)
    table = pa.table({"p": p, "q": p ^ mixed, "other": rng.integers(0, 3, N)})
    assert all(m.harmless for m in measure_columns(table, [s]).values())
    found = measure_columns(table, [s], code=code)
    assert found["p"].harmless != found["q"].harmless
    assert found["other"].harmless
