"""Keys of benchmarks: not secret, so that a table comes out the same when it is run again."""

from __future__ import annotations

import hashlib


def bench_key(seed: int) -> bytes:
    """The key of a benchmark's fits. Anyone can compute it: never release data under it."""
    return hashlib.blake2b(f"withhold bench {seed}".encode(), digest_size=32).digest()
