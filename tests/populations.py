"""The best attacker of a population, exactly, and samples of it."""

from __future__ import annotations

import numpy as np

from withhold.bench.population import FloatArray, PeoplePopulation, Population


def codes(world: Population) -> FloatArray:
    """P(j, s): (K, N)."""
    return world.joint @ world.channel


def best(world: Population | PeoplePopulation) -> float:
    """B = sum_j max_s P(j, s), exactly; for people, of a record of a new group."""
    if isinstance(world, PeoplePopulation):
        world = Population(np.tensordot(world.shares, world.inside, axes=1), world.channel)
    return float(codes(world).max(axis=0).sum())


def record_table(world: Population, records: int, rng: np.random.Generator) -> FloatArray:
    """Summed probabilities of independent records: (K, N)."""
    counts = rng.multinomial(records, world.joint.reshape(-1) / world.joint.sum())
    return counts.reshape(world.joint.shape) @ world.channel


def group_table(
    people: PeoplePopulation, groups: int, rng: np.random.Generator, *, most: int = 20
) -> FloatArray:
    """Each group's mean over its 1 to `most` records, summed over groups: (K, N)."""
    kinds = rng.choice(len(people.shares), groups, p=people.shares)
    sizes = rng.integers(1, most + 1, groups)
    flat = people.inside.reshape(len(people.shares), -1)
    total = np.zeros(flat.shape[1])
    for kind in np.unique(kinds):
        inner = sizes[kinds == kind]
        cells = rng.choice(flat.shape[1], inner.sum(), p=flat[kind] / flat[kind].sum())
        total += np.bincount(cells, np.repeat(1 / inner, inner), minlength=len(total))
    return total.reshape(people.inside.shape[1:]) @ people.channel


def leaky_population(k: int = 10) -> Population:
    """Every class has a code of its own: B = 1."""
    return Population(np.eye(k) / k, np.eye(k))
