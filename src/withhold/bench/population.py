"""Populations whose best attacker is known exactly: finitely many types of record, one channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.certificate.bound import Table

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Population:
    """P(s, t) over classes and types of record: (K, T), and a channel W(j | t): (T, N)."""

    joint: FloatArray
    channel: FloatArray

    @property
    def codes(self) -> Table:
        """P(j, s): (K, N)."""
        return self.joint @ self.channel

    @property
    def best(self) -> float:
        """B = sum_j max_s P(j, s), exactly."""
        return float(self.codes.max(axis=0).sum())

    def table(self, records: int, rng: np.random.Generator) -> Table:
        """Summed probabilities of so many independent records: (K, N)."""
        counts = rng.multinomial(records, self.joint.reshape(-1) / self.joint.sum())
        return counts.reshape(self.joint.shape) @ self.channel


@dataclass(frozen=True, eq=False)
class People:
    """Groups of several kinds, each with its own P(s, t) inside: (H, K, T), kinds' shares (H,)."""

    shares: FloatArray
    inside: FloatArray
    channel: FloatArray

    @property
    def best(self) -> float:
        """B of a record of a new group, exactly."""
        joint = np.tensordot(self.shares, self.inside, axes=1)
        return Population(joint, self.channel).best

    def table(self, groups: int, rng: np.random.Generator, *, most: int = 20) -> Table:
        """Each group's mean over its 1 to `most` records, summed over groups: (K, N)."""
        kinds = rng.choice(len(self.shares), groups, p=self.shares)
        sizes = rng.integers(1, most + 1, groups)
        flat = self.inside.reshape(len(self.shares), -1)
        total = np.zeros(flat.shape[1])
        for kind in np.unique(kinds):
            inner = sizes[kinds == kind]
            cells = rng.choice(flat.shape[1], inner.sum(), p=flat[kind] / flat[kind].sum())
            total += np.bincount(cells, np.repeat(1 / inner, inner), minlength=len(total))
        return total.reshape(self.inside.shape[1:]) @ self.channel


def draw_population(rng: np.random.Generator) -> Population:
    """2 to 60 classes, 2 to 256 codes; any prior, leak and softness."""
    k, n = _log_uniform(rng, 2, 60), _log_uniform(rng, 2, 256)
    types = int(rng.integers(k, 4 * k + 1))
    own = rng.dirichlet(np.full(types, 0.5), k)
    owned = np.zeros((k, types))
    owned[np.arange(types) % k, np.arange(types)] = 1
    owned /= owned.sum(axis=1, keepdims=True)
    # From codes that have nothing to do with the class, over some, to types that name it.
    leak = rng.choice([0.0, rng.random() ** 2, 1.0], p=[0.2, 0.6, 0.2])
    inside = leak * (owned if rng.random() < 0.5 else own) + (1 - leak) * own.mean(axis=0)
    return Population(_prior(k, rng)[:, None] * inside, _channel(types, n, rng))


def draw_people(rng: np.random.Generator) -> People:
    """2 to 100 kinds of groups; in some every record has one class, in others the class varies."""
    one = draw_population(rng)
    k, types = one.joint.shape
    kinds = _log_uniform(rng, 2, 100)
    mixed = rng.dirichlet(np.full(k * types, 0.05), kinds).reshape(kinds, k, types)
    if rng.random() < 0.5:
        of = rng.choice(k, kinds, p=one.joint.sum(axis=1))
        mixed = np.eye(k)[of][:, :, None] * mixed.sum(axis=1, keepdims=True)
    return People(rng.dirichlet(np.ones(kinds)), mixed, one.channel)


def leaky_population(k: int = 10) -> Population:
    """Every class has a code of its own: B = 1."""
    return Population(np.eye(k) / k, np.eye(k))


def _prior(k: int, rng: np.random.Generator) -> FloatArray:
    """Uniform, or Zipf."""
    weights = np.ones(k) if rng.random() < 0.5 else 1 / np.arange(1, k + 1)
    prior: FloatArray = weights / weights.sum()
    return prior


def _channel(types: int, codes: int, rng: np.random.Generator) -> FloatArray:
    """From one code a type to the same code for all: softmax of noise, 0 to 30 times."""
    logits = rng.standard_normal((types, codes)) * rng.choice([0.0, 1.0, 3.0, 30.0])
    w = np.exp(logits - logits.max(axis=1, keepdims=True))
    soft: FloatArray = w / w.sum(axis=1, keepdims=True)
    return soft


def _log_uniform(rng: np.random.Generator, low: int, high: int) -> int:
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))
