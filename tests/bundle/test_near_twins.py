"""Records of the fit are recognised after they were exported again; honest records are let pass."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from withhold.actions.fit import fit_bundle
from withhold.bundle.fit_membership import FitMembership
from withhold.bundle.near_twins import COMPARED, KEPT, Sketches
from withhold.certificate.certify_bundle import certify
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

FloatArray = npt.NDArray[np.float32]
KEY = bytes(range(32))


def _noise(x: FloatArray) -> FloatArray:
    rng = np.random.default_rng(7)
    return x + (0.01 * x.std(axis=0) * rng.standard_normal(x.shape)).astype(np.float32)


EXPORTS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "float16": lambda x: x.astype(np.float16).astype(np.float32),
    "factor": lambda x: x * np.float32(1.000001),
    "noise": _noise,
    "normalised": lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
    "rounded": lambda x: np.round(x, 3),
}


def world(kind: str, n: int, d: int, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    if kind == "clusters":
        x = 0.3 * x + 3 * rng.standard_normal((20, d))[rng.integers(0, 20, n)]
    elif kind == "low rank":
        x = (
            rng.standard_normal((n, 3)) @ np.random.default_rng(1).standard_normal((3, d))
            + 0.01 * x
        )
    elif kind == "heavy tails":
        x = rng.standard_t(2, (n, d))
    elif kind == "offset":
        x = 100 + 5 * x
    elif kind == "discrete":
        x = rng.integers(0, 4, (n, d)).astype(float)
    elif kind == "repeated":
        x[rng.random(n) < 0.3] = 1.0
    return x.astype(np.float32)


WORLDS = ["gaussian", "clusters", "low rank", "heavy tails", "offset", "discrete", "repeated"]


@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize("kind", ["gaussian", "clusters", "low rank", "offset", "repeated"])
def test_fitted_records_are_refused_after_an_export(kind: str, export: str) -> None:
    x = world(kind, 400, 8)
    membership = FitMembership.of(Dataset.from_arrays(x), KEY)
    again = EXPORTS[export](x)
    assert membership.overlap(again) < 300  # the exact comparison is not enough
    with pytest.raises(UserError, match="so they cannot be used to certify it"):
        membership.require_new(Dataset.from_arrays(again))


@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.parametrize("d", [1, 2, 6, 40])
def test_honest_records_are_let_pass(kind: str, d: int) -> None:
    for seed in range(4):
        x = world(kind, 600, d, seed)
        membership = FitMembership.of(Dataset.from_arrays(x[:300]), KEY)
        share = membership.require_new(Dataset.from_arrays(x[300:]))
        assert 0 <= share <= 1


def test_honest_records_of_another_mix_are_let_pass() -> None:
    """Only the dense part of the population comes later."""
    rng = np.random.default_rng(0)
    wide, dense = rng.standard_normal((400, 6)), 0.01 * rng.standard_normal((600, 6))
    fitted = np.concatenate([wide, dense[:200]]).astype(np.float32)
    membership = FitMembership.of(Dataset.from_arrays(fitted), KEY)
    membership.require_new(Dataset.from_arrays(dense[200:].astype(np.float32)))


def test_a_part_of_fitted_records_is_refused_and_the_share_told() -> None:
    x = world("gaussian", 1200, 12)
    membership = FitMembership.of(Dataset.from_arrays(x[:600]), KEY)
    mixed = np.concatenate([EXPORTS["float16"](x[:120]), x[600:1080]])
    with pytest.raises(UserError, match=r"about 20 % of the 600 records"):
        membership.require_new(Dataset.from_arrays(mixed))


@pytest.mark.slow
def test_the_certificate_of_exported_training_records_is_refused() -> None:
    """The codes are balanced on the fitted records, so these read far less than new ones do."""
    rng = np.random.default_rng(0)
    n, d = 1200, 8
    who = rng.integers(0, 5, n)
    x = rng.standard_normal((n, d)) + 0.9 * rng.standard_normal((5, d))[who]
    split = np.where(np.arange(n) < 600, "train", "test")
    data = Dataset.from_arrays(x.astype(np.float32), {"who": who, "split": split.tolist()})
    config = {"codes": 64, "least": 1, "solver": "substitute"}
    made = fit_bundle(data, Roles.of("who"), config=config, key=KEY)
    train, test = (data.part(p).without(["split"]) for p in ("train", "test"))
    honest = certify(made, test)
    assert honest.data.near_twins is not None
    assert honest.data.near_twins < 0.01
    for export in EXPORTS.values():
        with pytest.raises(UserError, match="nearly equal to records of the fit"):
            certify(made, train.with_features(export(train.x)))


def test_size_is_bounded_and_a_sample_recognises_as_well() -> None:
    x = world("gaussian", KEPT + 30_000, 4)
    membership = FitMembership.of(Dataset.from_arrays(x), KEY)
    sketches = membership.sketches
    assert len(sketches.features) == KEPT
    assert sketches.coverage == pytest.approx(KEPT / len(x))
    found = sketches.near_twins(EXPORTS["factor"](x[:20_000]))
    assert found.compared == COMPARED
    assert found.above_chance(1e-6)


def test_sketches_come_back_and_damaged_ones_are_refused() -> None:
    x = world("gaussian", 50, 5)
    arrays = FitMembership.of(Dataset.from_arrays(x), KEY).arrays()
    again = FitMembership.from_arrays(arrays, KEY)
    assert again.sketches.near_twins(EXPORTS["rounded"](x)).found == 50
    for name in arrays:
        with pytest.raises(UserError, match="fit membership"):
            FitMembership.from_arrays({k: v for k, v in arrays.items() if k != name}, KEY)
        wrong = arrays | {name: np.zeros((1, 3), np.float16)}
        with pytest.raises(UserError, match="fit membership"):
            FitMembership.from_arrays(wrong, KEY)


def test_other_keys_project_otherwise() -> None:
    x, hashes = world("gaussian", 20, 5), np.arange(20, dtype=np.uint64)
    one, two = (Sketches.of(x, hashes, key).features for key in (KEY, KEY[::-1]))
    assert not np.isclose(one, two).any(axis=1).all()


def test_records_far_beyond_the_fitted_ones_are_let_pass() -> None:
    x = 1e-30 * world("gaussian", 100, 5)
    membership = FitMembership.of(Dataset.from_arrays(x), KEY)
    far = np.full((20, 5), 3e38, np.float32)
    assert membership.require_new(Dataset.from_arrays(far)) == 0
