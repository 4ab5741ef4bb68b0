"""Small worlds released by `exact`, whose best attacker can be computed.

Few codes and few records, so that `plan_truth` can add up all that r rows may show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import Bundle, describe
from withhold.methods.features.codebook.reader import NetworkReader
from withhold.methods.features.exact.config import ExactConfig
from withhold.methods.features.exact.modifier import ExactModifier, ExactPlan
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

SECRET, KEPT = "secret", "kept"
_RECORDS = (40, 280)
_DIMENSION = 3
_EACH = 6  # records of the smallest class, at least


@dataclass(frozen=True, eq=False)
class PlanWorld:
    """A bundle of `exact` and the records that it releases."""

    bundle: Bundle
    data: Dataset

    @property
    def modifier(self) -> ExactModifier:
        """The modifier of the bundle."""
        found = self.bundle.modifier
        assert isinstance(found, ExactModifier)
        return found


def balanced(rng: np.random.Generator) -> PlanWorld:
    """Records that are really fitted, by the metric or, sometimes, by a small network."""
    data, roles = _records(rng)
    codes = int(rng.integers(2, 5 if not roles.preserve else 4))
    config = {
        "codes": codes,
        "scores": "metric" if rng.random() < 0.9 else "network",
        "softness": float(rng.choice([0.02, 0.25, 0.5, 2.0])),
        "least": 1,
        "smallest": 1,
        "rounds": 1,
        "exact_rounds": 1,
        "epochs": 2,
        "hidden": [8],
        "dropout": [0.0],
    }
    bundle = fit_bundle(
        data,
        roles,
        method="exact",
        config=config,
        seed=int(rng.integers(2**31)),
        key=rng.bytes(32),
    )
    return PlanWorld(bundle, data)


def unbalanced(rng: np.random.Generator) -> PlanWorld:
    """A plan that nobody balanced: random scores, potentials and corrections. It may leak."""
    data, roles = _records(rng)
    codes = int(rng.integers(2, 5))
    classes, values = (_joint(data, names) for names in (roles.suppress, roles.preserve))
    cells = np.arange(len(classes) * len(values)).reshape(len(classes), len(values))
    shape = (cells.size, codes)
    scale = float(rng.choice([0.0, 0.1, 1.0, 5.0]))
    layers = [nn.Linear(_DIMENSION, _DIMENSION), nn.Linear(_DIMENSION, codes)]
    with torch.no_grad():
        for layer in layers:
            spread = float(rng.choice([0.3, 3.0])) * rng.standard_normal(tuple(layer.weight.shape))
            layer.weight.copy_(torch.from_numpy(spread))
            layer.bias.zero_()
    # As in every fit, a code stands for one preserved value.
    own = np.tile(
        np.arange(codes) % len(values) == np.arange(len(values))[:, None], (len(classes), 1)
    )
    rest = rng.dirichlet(np.ones(codes), cells.size) * own
    plan = ExactPlan(
        NetworkReader([layer.requires_grad_(False) for layer in layers], 1.0),
        rng.standard_normal((codes, _DIMENSION)).astype(np.float32),
        np.where(own, scale * rng.standard_normal(shape), -1e4).astype(np.float32),
        (rng.choice([np.ones(shape), rng.random(shape)]) * own).astype(np.float32),
        (rest / rest.sum(axis=1, keepdims=True)).astype(np.float32),
        cells,
    )
    made = ExactModifier(
        plan,
        rng.bytes(32),
        suppress=roles.suppress,
        preserve=roles.preserve,
        classes=classes,
        values=values,
    )
    return PlanWorld(describe(made, data, roles, ExactConfig(), seed=0, history=[]), data)


PLAN_KINDS = {"exact": balanced, "exact, unbalanced": unbalanced}


def _records(rng: np.random.Generator) -> tuple[Dataset, Roles]:
    """2 to 4 classes of Gaussian records; in a third of the worlds records repeat, and in a
    third there is a preserved attribute, which depends on the class."""
    k = int(rng.integers(2, 5))
    n = int(rng.integers(*_RECORDS))
    share = rng.dirichlet(np.full(k, rng.choice([2.0, 50.0, 50.0])))
    s = np.concatenate([np.repeat(np.arange(k), _EACH), rng.choice(k, n - k * _EACH, p=share)])
    means = rng.standard_normal((k, _DIMENSION)) * rng.choice([0.0, 0.5, 3.0])
    x = (means[s] + rng.standard_normal((n, _DIMENSION))).astype(np.float32)
    if rng.random() < 1 / 3:
        x = np.round(x)
    labels = {SECRET: [f"c{v}" for v in s]}
    if rng.random() < 1 / 3:
        told = rng.random(n) < rng.uniform(0.2, 0.8, k)[s]
        told[:2], told[-2:] = [False, True], [False, True]
        labels[KEPT] = [f"u{int(v)}" for v in told]
    preserve = KEPT if KEPT in labels else ""
    return Dataset.from_arrays(x, labels, name="generated"), Roles.of(SECRET, preserve)


def _joint(data: Dataset, names: tuple[str, ...]) -> tuple[str, ...]:
    """The joint values of these attributes, as `exact` names them."""
    from withhold.methods.features.exact.labelled_cells import joint_names

    return joint_names([data.attribute(n) for n in names], len(data))[0]


def preserved(world: PlanWorld) -> npt.NDArray[np.int64]:
    """The number of the preserved value of each record: (n,), 0 where nothing is preserved."""
    if not world.bundle.roles.preserve:
        return np.zeros(len(world.data), np.int64)
    return world.data.attribute(KEPT).codes
