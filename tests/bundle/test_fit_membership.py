"""What a fit has seen is recognised, whatever the file; what it has not is let pass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.bundle.fit_membership import FitMembership
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset

KEY = b"key"


def records(n: int, *, seed: int = 0, group: list[object] | None = None) -> Dataset:
    x = np.random.default_rng(seed).standard_normal((n, 3))
    columns = {} if group is None else {"person": group}
    return Dataset.from_arrays(x, columns, group=None if group is None else "person", name="d.csv")


@given(st.integers(0, 40), st.integers(0, 40))
def test_it_counts_the_records_it_saw(old: int, new: int) -> None:
    data, others = records(40), records(40, seed=1)
    mixed = np.concatenate([data.x[:old], others.x[:new]])
    assert FitMembership.of(data, KEY).overlap(mixed) == old


def test_any_seen_record_is_refused_where_records_are_unique() -> None:
    data = records(50)
    seen = FitMembership.of(data, KEY)
    assert seen.twins == 0
    seen.require_new(records(500, seed=1))
    one = Dataset.from_arrays(np.vstack([data.x[:1], records(99, seed=1).x]), name="new.csv")
    with pytest.raises(UserError, match=r"1 of the 100 records of new\.csv were used in the fit"):
        seen.require_new(one)


def test_natural_twins_are_let_pass_and_copies_are_not() -> None:
    """A table of a thousand possible rows: most values occur again, in new data too."""
    rng = np.random.default_rng(0)
    fitted, new = (rng.integers(0, 10, (2000, 3)).astype(np.float32) for _ in range(2))
    seen = FitMembership.of(Dataset.from_arrays(fitted), KEY)
    same = [np.sum((fitted == row).all(axis=1)) > 1 for row in fitted]
    assert seen.twins == pytest.approx(np.mean(same))
    seen.require_new(Dataset.from_arrays(new[:500]))
    with pytest.raises(UserError, match="were used in the fit"):
        seen.require_new(Dataset.from_arrays(fitted[:500]))


def test_zero_has_no_sign() -> None:
    seen = FitMembership.of(Dataset.from_arrays(np.zeros((1, 2))), KEY)
    assert seen.overlap(np.array([[-0.0, 0.0]], np.float32)) == 1


def test_groups_are_known_by_name_whatever_their_type() -> None:
    seen = FitMembership.of(records(4, group=[1, 2, 3, None]), KEY)
    assert seen.seen_groups(records(3, group=["1", "3", "9"])) == 2
    assert seen.seen_groups(records(3, group=[1.0, None, None])) == 1
    assert seen.seen_groups(records(3)) == 0


def test_it_comes_back_from_its_arrays_and_tells_no_record() -> None:
    data = records(300, group=[f"p{i % 7}" for i in range(300)])
    seen = FitMembership.of(data, KEY)
    arrays = seen.arrays()
    again = FitMembership.from_arrays(arrays, KEY)
    assert again.overlap(data.x) == 300
    assert again.seen_groups(data) == 7
    every = b"".join(a.tobytes() for a in arrays.values())
    assert data.x[0].tobytes() not in every
    assert KEY not in every


def test_the_order_of_records_does_not_matter_and_the_key_does() -> None:
    data = records(60)
    turned = data.rows(np.arange(60)[::-1])
    np.testing.assert_array_equal(
        FitMembership.of(data, KEY).records, FitMembership.of(turned, KEY).records
    )
    assert not np.isin(
        FitMembership.of(data, b"other").records, FitMembership.of(data, KEY).records
    ).any()
