"""The audit of a release in memory: the same proof as for the file that it is written to."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import withhold as wh


@pytest.mark.slow
def test_the_audit_of_a_table_in_memory_states_what_its_certificate_proves() -> None:
    rng = np.random.default_rng(0)
    n = 500
    sex = rng.choice(["m", "f"], n)
    frame = pd.DataFrame(
        {
            "sex": sex,
            "height": np.where(sex == "m", 178, 165) + rng.integers(-7, 8, n),
            "job": rng.choice(list("abcd"), n),
        }
    )
    released = wh.release(frame, suppress="sex", config={"codes": 8})
    assert released.certificate is not None
    found = released.audit(quick=True)
    assert "certified: no attacker who does not know the draws reads sex" in found.verdict
    assert "nothing is proved" not in found.verdict
