"""Worlds whose best attacker is known, released and certified as a user's data would be.

Each has a bundle with a real codebook, records that its fit never saw, and the truth B: what the
best attacker reads from one released record of the population, under the key of the bundle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from withhold.actions.fit import fit_bundle
from withhold.bench.population import draw_people, draw_population
from withhold.bundle.bundle import Bundle, describe
from withhold.bundle.fit_membership import FitMembership
from withhold.certificate.certify_bundle import certify
from withhold.core.errors import UserError
from withhold.methods.features.codebook.config import CodebookConfig
from withhold.methods.features.codebook.modifier import Codebook, CodebookModifier
from withhold.methods.features.codebook.reader import NetworkReader
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

FloatArray = npt.NDArray[np.float64]
RECORDS = (50, 3000)
SECRET, PERSON = "secret", "person"
_FRESH = 12_000  # records that the truth of a continuous world is taken from


@dataclass(frozen=True, eq=False)
class ReleaseWorld:
    """A bundle, the records to release, the truth of later records, and what was certified."""

    bundle: Bundle
    data: Dataset
    truth: float
    bound: float | None  # the stated bound on later records; None where none could be made


def continuous(rng: np.random.Generator) -> ReleaseWorld:
    """Gaussian classes: no record occurs twice."""
    k, d = int(rng.integers(2, 13)), 3
    prior = rng.dirichlet(np.full(k, rng.choice([1.0, 20.0])))
    means = rng.standard_normal((k, d)) * rng.choice([0.0, 0.5, 2.0])
    made = _channel(rng, d, int(rng.integers(2, 40)))

    def draw(n: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        s = rng.choice(k, n, p=prior)
        return (means[s] + rng.standard_normal((n, d))).astype(np.float32), s

    x, s = draw(_size(rng))
    fresh, of = draw(_FRESH)
    table = np.eye(k)[of].T @ made.probabilities(fresh)
    return _certified(made, x, s, float(table.max(axis=0).sum() / _FRESH))


def discrete(rng: np.random.Generator) -> ReleaseWorld:
    """2 to 200 distinct records, which the key gives one code each, for good."""
    joint = draw_population(rng).joint
    types = round(float(np.exp(rng.uniform(np.log(2), np.log(200)))))
    joint = joint[:, rng.integers(0, joint.shape[1], types)]
    joint = joint / joint.sum()
    points = rng.standard_normal((types, 3)).astype(np.float32)
    made = _channel(rng, 3, int(rng.integers(2, 40)))
    hard = np.eye(len(made.codes))[made.draw(points)]
    cells = rng.choice(joint.size, _size(rng), p=joint.reshape(-1))
    truth = float((joint @ hard).max(axis=0).sum())
    return _certified(made, points[cells % types], cells // types, truth)


def grouped(rng: np.random.Generator) -> ReleaseWorld:
    """People with several records each; equal records of different people draw for themselves."""
    people = draw_people(rng)
    kinds, k, types = people.inside.shape
    points = rng.standard_normal((types, 3)).astype(np.float32)
    made = _channel(rng, 3, int(rng.integers(2, 40)), person=PERSON)
    plain = CodebookModifier(made.book, made.key, (), ())
    number = int(rng.integers(12, 300))
    who = rng.choice(kinds, number, p=people.shares)
    sizes = rng.integers(1, 21, number)
    flat = people.inside.reshape(kinds, -1)
    cells = np.concatenate(
        [
            rng.choice(k * types, n, p=flat[h] / flat[h].sum())
            for h, n in zip(who, sizes, strict=True)
        ]
    )
    names = np.repeat([f"p{i}" for i in range(number)], sizes)
    joint = np.tensordot(people.shares, people.inside, axes=1)
    truth = float((joint @ plain.probabilities(points)).max(axis=0).sum() / joint.sum())
    return _certified(made, points[cells % types], cells // types, truth, names.tolist())


def small(rng: np.random.Generator) -> ReleaseWorld:
    """40 to 400 records, fitted, certified on their test part and released, all of them."""
    k, d = int(rng.integers(2, 6)), 3
    n = int(rng.integers(40, 401))
    means = rng.standard_normal((k, d)) * rng.choice([0.0, 0.5, 2.0])

    def draw(n: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        s = rng.integers(0, k, n)
        return (means[s] + rng.standard_normal((n, d))).astype(np.float32), s

    x, s = draw(n)
    data = Dataset.from_arrays(x, {SECRET: _names(s)}, name="small").with_split()
    quick = {"least": 2, "smallest": 1, "outer": 2, "inner": 5}
    network = {"rounds": 2, "exact_rounds": 1, "epochs": 4, "hidden": [16], "components": 3}
    if rng.random() < 0.5:
        config = {**quick, "solver": "barycentre", "use_labels": True}
    else:
        config = {**quick, **network}
    bundle = fit_bundle(
        data, Roles.of(SECRET), config=config, seed=int(rng.integers(2**31)), key=rng.bytes(32)
    )
    made = bundle.modifier
    assert isinstance(made, CodebookModifier)
    fresh, of = draw(_FRESH // 4)
    known = sorted(set(_names(s)))
    able = np.isin(_names(of), known)  # a channel with labels takes classes that it was fitted on
    label = Attribute(
        SECRET,
        "categorical",
        tuple(known),
        np.array([known.index(c) for c in np.array(_names(of))[able]]),
    )
    table = np.eye(k)[of[able]].T @ made.probabilities(fresh[able], {SECRET: label})
    claim = (bundle.certificate or {}).get("attributes", {}).get(SECRET)
    truth = float(table.max(axis=0).sum() / able.sum())
    return ReleaseWorld(bundle, data, truth, None if claim is None else claim["bound"])


KINDS = {"continuous": continuous, "discrete": discrete, "grouped": grouped, "small": small}


def _certified(
    made: CodebookModifier,
    x: npt.NDArray[np.float32],
    s: npt.NDArray[np.int64],
    truth: float,
    people: list[str] | None = None,
) -> ReleaseWorld:
    """The world of a channel that was fitted on other records, certified on these."""
    group = None if people is None else PERSON
    columns = {SECRET: _names(s)} | ({} if people is None else {PERSON: people})
    data = Dataset.from_arrays(x, columns, name="new records", group=group)
    far = np.arange(24, dtype=np.float32).reshape(8, 3) + 1e4
    others = {SECRET: ["c0", "c1"] * 4} | ({} if people is None else {PERSON: list("abcdefgh")})
    fitted = Dataset.from_arrays(far, others, name="fitted records", group=group)
    bundle = describe(made, fitted, Roles.of(SECRET), CodebookConfig(), seed=0, history=[])
    bundle = replace(bundle, membership=FitMembership.of(fitted, made.key))
    try:
        claim = certify(bundle, data).attributes[SECRET]
    except UserError:
        return ReleaseWorld(bundle, data, truth, None)
    return ReleaseWorld(bundle, data, truth, claim.stated)


def _channel(
    rng: np.random.Generator, d: int, codes: int, person: str | None = None
) -> CodebookModifier:
    """A codebook whose network has random weights: from one code for all to one a region."""
    first, last = nn.Linear(d, d), nn.Linear(d, codes)
    with torch.no_grad():
        first.weight.copy_(torch.eye(d))
        first.bias.zero_()
        scale = float(rng.choice([0.0, 0.5, 3.0, 30.0]))
        last.weight.copy_(torch.from_numpy(scale * rng.standard_normal((codes, d))))
        last.bias.copy_(torch.from_numpy(rng.standard_normal(codes)))
    reader = NetworkReader([first.requires_grad_(False), last.requires_grad_(False)], 1.0)
    vectors = rng.standard_normal((codes, d)).astype(np.float32)
    weights = np.full(codes, 1 / codes, np.float32)
    book = Codebook(reader, vectors, weights, None, 0.0, np.zeros((1, d), np.float32))
    return CodebookModifier(book, rng.bytes(32), (), (), person)


def _names(s: npt.NDArray[np.int64]) -> list[str]:
    return [f"c{v}" for v in s]


def _size(rng: np.random.Generator) -> int:
    low, high = np.log(RECORDS)
    return round(float(np.exp(rng.uniform(low, high))))
