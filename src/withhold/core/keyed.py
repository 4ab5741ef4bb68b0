"""Keyed randomness: the same record under the same key gives the same draw.

A modifier is a pure function over record batches, so its noise does not come from a running
generator. It is derived from the record and a secret key. Asking twice gives the same answer
(nothing to average out), any process can answer, and without the key nobody can distinguish the
noise from true randomness. BLAKE2b maps record and key to a seed, and SHAKE-256 extends it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]


def keyed_words(
    key: bytes, x: FloatArray, words: int, people: Sequence[str] | None = None
) -> npt.NDArray[np.uint32]:
    """`words` uniform 32-bit words for each record of x: (n, d) -> (n, words).

    With `people`, the hash includes the name of the record's person: equal records of different
    people then get separate draws, and each still gets the same answer when asked again.
    """
    out = bytearray()
    rows = np.ascontiguousarray(x + np.float32(0), "<f4")  # -0.0 and 0.0 are the same record
    for i, row in enumerate(rows):
        mixed = hashlib.blake2b(row.data, key=key, digest_size=32)
        if people is not None:
            mixed.update(b"\0person\0" + people[i].encode())
        out += hashlib.shake_256(mixed.digest()).digest(4 * words)
    return np.frombuffer(bytes(out), "<u4").reshape(len(x), words)


def other_key(key: bytes, purpose: str) -> bytes:
    """Derive a key for another purpose: draws for two purposes must be independent."""
    return hashlib.blake2b(purpose.encode(), key=key, digest_size=32).digest()


def secret_seed(key: bytes, seed: int) -> int:
    """A seed that only the holder of the key can compute.

    What is learned from labels with a known seed works like a hash of them: whoever knows nearly
    all labels could learn again with every guess of the last ones, and compare.
    """
    mixed = hashlib.blake2b(f"seed {seed}".encode(), key=key, digest_size=8)
    return int.from_bytes(mixed.digest(), "little") >> 1


def keyed_normal(key: bytes, x: FloatArray, width: int | None = None) -> FloatArray:
    """Standard normal noise for each record, (n, width), by Box-Muller; width is d by default."""
    d = x.shape[1] if width is None else width
    half = (d + 1) // 2
    words = keyed_words(key, x, 2 * half).astype(np.float64)
    radius = np.sqrt(-2 * np.log((words[:, :half] + 1) / 2**32))
    angle = words[:, half:] * (2 * np.pi / 2**32)
    noise = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return noise[:, :d].astype(np.float32)


def keyed_uniform(
    key: bytes, x: FloatArray, people: Sequence[str] | None = None
) -> npt.NDArray[np.float64]:
    """A uniform number in (0, 1) for each record, (n,)."""
    words = keyed_words(key, x, 2, people).astype(np.float64)
    whole: npt.NDArray[np.float64] = (words[:, 0] * 2**20 + words[:, 1] // 2**12 + 0.5) / 2**52
    return whole


def with_nonces(x: FloatArray, nonces: npt.NDArray[np.uint64] | None) -> FloatArray:
    """Records with nonces (n, k) as further columns, (n, d + 4 k): equal records then differ."""
    if nonces is None:
        return x
    # As 16-bit pieces, which float32 holds exactly.
    pieces = [(nonces >> np.uint64(s)) & np.uint64(0xFFFF) for s in (0, 16, 32, 48)]
    return np.concatenate([x, *(p.astype(np.float32) for p in pieces)], axis=1)
