"""Between the user's features and the sphere."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from withhold.learn.nets.space import Space

FloatArray = npt.NDArray[np.float32]


def table(n: int = 300, d: int = 5, seed: int = 0) -> FloatArray:
    """Columns of very different means and scales."""
    rng = np.random.default_rng(seed)
    scales, means = 10.0 ** rng.uniform(-2, 3, d), 10 * rng.standard_normal(d)
    return (means + scales * rng.standard_normal((n, d))).astype(np.float32)


def test_unit_data_stays_as_it_is() -> None:
    x = table()
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    space = Space.of(x)
    assert space.is_sphere
    z = space.enter(torch.from_numpy(x))
    np.testing.assert_allclose(z.numpy(), x, atol=1e-6)
    assert torch.equal(space.leave(z), z)


def test_one_long_record_is_enough_not_to_be_a_sphere() -> None:
    x = np.eye(4, dtype=np.float32)
    assert Space.of(x).is_sphere
    x[0] *= 1.1
    assert not Space.of(x).is_sphere


def test_other_data_is_standardised() -> None:
    x = table()
    space = Space.of(x)
    assert not space.is_sphere
    z = space.enter(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(np.linalg.norm(z, axis=1), 1, atol=1e-5)
    wide = x.astype(np.float64)
    standard = (wide - wide.mean(axis=0)) / wide.std(axis=0)
    expected = standard / np.linalg.norm(standard, axis=1, keepdims=True)
    np.testing.assert_allclose(z, expected, atol=1e-3)


def test_shift_and_scale_of_a_column_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 3)).astype(np.float32)
    other = (x * [100, 0.01, 7] + [5, -3, 0]).astype(np.float32)
    z, w = (Space.of(v).enter(torch.from_numpy(v)) for v in (x, other))
    torch.testing.assert_close(z, w, atol=1e-3, rtol=1e-3)


def test_leaving_gives_every_record_the_training_radius() -> None:
    """A record's own length is a channel that the modifier does not see."""
    x = table()
    space = Space.of(x)
    back = space.leave(space.enter(torch.from_numpy(x))).numpy()
    lengths = np.linalg.norm((back - x.mean(axis=0)) / x.std(axis=0), axis=1)
    own = np.linalg.norm((x - x.mean(axis=0)) / x.std(axis=0), axis=1)
    assert own.std() > 0.3
    np.testing.assert_allclose(lengths, np.sqrt((own**2).mean()), rtol=1e-2)


def test_leaving_undoes_entering_but_for_the_length() -> None:
    x = table()
    space = Space.of(x)
    z = space.enter(torch.from_numpy(x))
    torch.testing.assert_close(space.enter(space.leave(z)), z, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("value", [0.0, 1.0, -1234.5])
def test_a_constant_column_stays_constant(value: float) -> None:
    x = table()
    x[:, 2] = value
    space = Space.of(x)
    z = torch.randn(50, x.shape[1], generator=torch.Generator().manual_seed(0))
    left = space.leave(z).numpy()
    assert (left[:, 2] == np.float32(value)).all()
    assert (left[:, [0, 1, 3, 4]].std(axis=0) > 0).all()


def test_what_a_new_record_has_in_a_constant_column_is_not_looked_at() -> None:
    x = table()
    x[:, 2] = 3
    space = Space.of(x)
    odd = x.copy()
    odd[:, 2] = 1e6
    z = space.enter(torch.from_numpy(x))
    assert torch.isfinite(z).all()
    assert torch.equal(space.enter(torch.from_numpy(odd)), z)


def test_identical_records_do_no_harm() -> None:
    x = np.full((10, 3), 7, np.float32)
    space = Space.of(x)
    z = space.enter(torch.from_numpy(x))
    assert torch.isfinite(z).all()
    assert torch.isfinite(space.leave(z)).all()


@settings(max_examples=30, deadline=None)
@given(n=st.integers(2, 40), d=st.integers(1, 8), scale=st.floats(1e-4, 1e4))
def test_any_data_gives_finite_numbers(n: int, d: int, scale: float) -> None:
    x = (scale * np.random.default_rng(n * d).standard_normal((n, d))).astype(np.float32)
    space = Space.of(x)
    z = space.enter(torch.from_numpy(x))
    assert torch.isfinite(z).all()
    assert (z.norm(dim=1) <= 1 + 1e-5).all()
    assert torch.isfinite(space.leave(z)).all()
