"""Random populations: finitely many types of record, each with known class probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Population:
    """P(s, t) over classes and types of record: (K, T), and a channel W(j | t): (T, N)."""

    joint: FloatArray
    channel: FloatArray


@dataclass(frozen=True, eq=False)
class PeoplePopulation:
    """Kinds of groups with shares (H,), each with its own P(s, t): (H, K, T), and a channel."""

    shares: FloatArray
    inside: FloatArray
    channel: FloatArray


def draw_population(rng: np.random.Generator) -> Population:
    """2 to 60 classes, 2 to 256 codes; any prior, leak and softness."""
    k, n = _log_uniform(rng, 2, 60), _log_uniform(rng, 2, 256)
    types = int(rng.integers(k, 4 * k + 1))
    own = rng.dirichlet(np.full(types, 0.5), k)
    owned = np.zeros((k, types))
    owned[np.arange(types) % k, np.arange(types)] = 1
    owned /= owned.sum(axis=1, keepdims=True)
    # 0: the type says nothing about the class. 1: it may name the class.
    leak = rng.choice([0.0, rng.random() ** 2, 1.0], p=[0.2, 0.6, 0.2])
    inside = leak * (owned if rng.random() < 0.5 else own) + (1 - leak) * own.mean(axis=0)
    return Population(_prior(k, rng)[:, None] * inside, _channel(types, n, rng))


def draw_people(rng: np.random.Generator) -> PeoplePopulation:
    """2 to 100 kinds of groups. In half of the draws all records of a group have one class."""
    one = draw_population(rng)
    k, types = one.joint.shape
    kinds = _log_uniform(rng, 2, 100)
    mixed = rng.dirichlet(np.full(k * types, 0.05), kinds).reshape(kinds, k, types)
    if rng.random() < 0.5:
        of = rng.choice(k, kinds, p=one.joint.sum(axis=1))
        mixed = np.eye(k)[of][:, :, None] * mixed.sum(axis=1, keepdims=True)
    return PeoplePopulation(rng.dirichlet(np.ones(kinds)), mixed, one.channel)


def _prior(k: int, rng: np.random.Generator) -> FloatArray:
    """Uniform, or Zipf."""
    weights = np.ones(k) if rng.random() < 0.5 else 1 / np.arange(1, k + 1)
    prior: FloatArray = weights / weights.sum()
    return prior


def _channel(types: int, codes: int, rng: np.random.Generator) -> FloatArray:
    """Softmax of scaled noise: from the same codes for all types to one code per type."""
    logits = rng.standard_normal((types, codes)) * rng.choice([0.0, 1.0, 3.0, 30.0])
    w = np.exp(logits - logits.max(axis=1, keepdims=True))
    soft: FloatArray = w / w.sum(axis=1, keepdims=True)
    return soft


def _log_uniform(rng: np.random.Generator, low: int, high: int) -> int:
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))
