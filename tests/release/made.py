"""A table with one column of every sort that a release meets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from withhold.records.dataset import Dataset

N, D, PEOPLE = 1200, 6, 60
HARMLESS = ["digit", "weather", "temp", "tags"]
LEFT_OUT = {
    "speaker": "group",
    "gender": "suppressed",
    "sex": "copy",
    "audio": "structure",
    "emb2": "structure",
    "x2": "structure",
    "device": "tells",
    "comment": "structure",
    "file": "structure",
    "id": "structure",
}


def table(*, seed: int = 0, n: int = N) -> dict[str, Any]:
    """Columns beside the features: `gender` is suppressed and belongs to the speaker."""
    rng = np.random.default_rng(seed)
    who = rng.integers(0, PEOPLE, n)
    g = rng.permutation(PEOPLE)[who] % 2
    hint = np.where(rng.random(n) < 0.79, g, 1 - g)
    x = rng.standard_normal((n, D)).astype(np.float32)
    x[:, 0] += 2 * g
    digit = rng.integers(0, 3, n)
    x[:, 1] += 3 * digit
    turned = (x @ rng.standard_normal((D, D)) + 1).astype(np.float32)
    return {
        "features": x,
        "speaker": [f"s{w}" for w in who],
        "gender": np.array(["f", "m"])[g].tolist(),
        "sex": [1.5, -2.0] @ np.stack([g == 0, g == 1]),
        "digit": digit,
        "audio": [rng.bytes(8 + int(i % 3)) for i in range(n)],
        "emb2": list(turned),
        "x2": x[:, 2] * 3 + 1 + 0.01 * rng.standard_normal(n),
        "device": np.array(["phone", "desk"])[hint].tolist(),
        "comment": [f"{['her', 'his'][h]} card {i}" for i, h in enumerate(hint)],
        "file": [f"takes/{i}.wav" for i in range(n)],
        "id": np.arange(n) + 1000,
        "weather": rng.integers(0, 4, n),
        "temp": rng.standard_normal(n),
        "tags": pa.array([["a"] if t else ["b", "c"] for t in rng.integers(0, 2, n)]),
    }


def dataset(*, seed: int = 0, n: int = N, **more: Any) -> Dataset:
    """The same as a Dataset, with `more` columns."""
    columns = table(seed=seed, n=n) | more
    x = columns.pop("features")
    return Dataset.from_arrays(x, columns, group="speaker", name="calls")
