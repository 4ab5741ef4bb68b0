"""Where a record stands among its own class."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from withhold.methods.features.codebook import metric as module
from withhold.methods.features.codebook.metric import fit_metric, principal


def records(n: int = 200, d: int = 6, classes: int = 4, seed: int = 0) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(seed)
    s = torch.arange(n) % classes
    x = torch.randn(n, d, generator=g) * torch.tensor([3.0, 2.0, 1.5, 1.0, 0.7, 0.5])[:d]
    return x + 10 * torch.randn(classes, d, generator=g)[s], s


def distances(z: Tensor) -> Tensor:
    return torch.cdist(z, z)


def test_every_class_is_centred_and_of_mean_square_length_one() -> None:
    x, s = records()
    x[s == 2] *= 5  # a loud class
    z = fit_metric(x, s, 4, 6, 0).place(x, s)
    for c in range(4):
        assert z[s == c].mean(dim=0).abs().max() < 1e-4
        assert float(z[s == c].square().sum(dim=1).mean()) == pytest.approx(1, abs=1e-4)


def test_each_direction_is_divided_by_the_root_of_its_deviation() -> None:
    x, s = records(4000, classes=1)
    spread = fit_metric(x, s, 1, 6, 0).place(x, s).std(dim=0)
    expected = torch.tensor([3.0, 2.0, 1.5, 1.0, 0.7, 0.5]).sqrt()
    torch.testing.assert_close(spread / spread[0], expected / expected[0], atol=0.03, rtol=0.03)


def test_shifting_a_class_changes_nothing() -> None:
    """It is the class's own place that is suppressed."""
    x, s = records()
    moved = x + 7 * torch.arange(4)[s, None]
    one, two = (fit_metric(v, s, 4, 6, 0).place(v, s) for v in (x, moved))
    torch.testing.assert_close(one, two, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("factor", [1e-6, 100.0, 1e8])
def test_the_unit_of_measure_does_not_matter(factor: float) -> None:
    x, s = records()
    one, two = (fit_metric(v, s, 4, 6, 0).place(v, s) for v in (x, factor * x))
    torch.testing.assert_close(one, two, atol=1e-3, rtol=1e-3)


def test_names_of_classes_and_order_of_records_and_features_do_not_matter() -> None:
    x, s = records()
    z = fit_metric(x, s, 4, 6, 0).place(x, s)
    named = torch.tensor([2, 0, 3, 1])
    turned = fit_metric(x, named[s], 4, 6, 0).place(x, named[s])
    torch.testing.assert_close(turned, z, atol=1e-4, rtol=1e-4)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(1))
    mixed = fit_metric(x[order], s[order], 4, 6, 0).place(x[order], s[order])
    torch.testing.assert_close(mixed, z[order], atol=1e-4, rtol=1e-4)
    flipped = fit_metric(x.flip(1), s, 4, 6, 0).place(x.flip(1), s)
    torch.testing.assert_close(distances(flipped), distances(z), atol=1e-3, rtol=1e-3)


def test_constant_columns_and_classes_of_equal_records_are_no_problem() -> None:
    x, s = records()
    x[:, 2] = 7.0
    x[s == 1] = x[1].clone()
    metric = fit_metric(x, s, 4, 6, 0)
    z = metric.place(x, s)
    assert z.isfinite().all()
    assert float(z[s == 1].abs().max()) < 1e-3
    assert metric.directions.shape[1] == 5  # nothing varies along the constant one


def test_a_class_of_one_record_and_one_that_is_not_there() -> None:
    x, s = records()
    s = torch.where(torch.arange(len(s)) == 17, 4, s)
    metric = fit_metric(x, s, 6, 6, 0)
    assert metric.place(x, s).isfinite().all()
    assert float(metric.place(x[17:18], s[17:18]).abs().max()) < 1e-6
    assert metric.scale.isfinite().all()
    assert (metric.scale > 0).all()


def test_nothing_varies_at_all() -> None:
    x, s = torch.full((8, 3), 2.5), torch.arange(8) % 2
    assert fit_metric(x, s, 2, 6, 0).place(x, s).abs().max() == 0


def test_features_beyond_the_root_of_float_range_are_no_problem() -> None:
    x, s = records()
    z = fit_metric(1e25 * x, s, 4, 6, 0).place(1e25 * x, s)
    assert z.isfinite().all()


def test_principal_directions_are_orthonormal_and_in_order() -> None:
    x, _ = records(500, classes=1)
    x = x - x.mean(dim=0)
    vectors, deviation = principal(x, 4, 0)
    torch.testing.assert_close(vectors.T @ vectors, torch.eye(4), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close((x @ vectors).std(dim=0), deviation, atol=0.01, rtol=0.01)
    assert (deviation.diff() < 0).all()


def test_few_records_in_many_features() -> None:
    x = torch.randn(5, 40, generator=torch.Generator().manual_seed(0))
    x = x - x.mean(dim=0)
    vectors, deviation = principal(x, 128, 0)
    assert vectors.shape == (40, 4)
    assert deviation.isfinite().all()


def test_very_many_features_are_decomposed_by_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    x, _ = records(300, classes=1)
    x = x - x.mean(dim=0)
    exact = principal(x, 3, 0)
    monkeypatch.setattr(module, "_EXACT", 2)
    before = torch.random.get_rng_state()
    sampled = principal(x, 3, 0)
    assert torch.equal(before, torch.random.get_rng_state())
    for one, two in zip(exact, sampled, strict=True):
        torch.testing.assert_close(one, two, atol=1e-3, rtol=1e-3)
    assert all(torch.equal(a, b) for a, b in zip(sampled, principal(x, 3, 0), strict=True))
