"""Small clips, and settings with which a fit takes a second or two."""

from __future__ import annotations

from typing import Any

import numpy as np

import withhold
from withhold.bundle.bundle import Bundle
from withhold.records.dataset import Dataset

SMALL: dict[str, Any] = {
    "height": 16, "width": 16, "frames": 4, "unet_width": 2, "unet_depth": 1, "batch": 8,
    "action_model": "r3d18:0.1", "epochs": 1, "reconstruction_epochs": 1, "action_epochs": 1,
    "privacy_models": ["mobilenet-v1:0.1", "mobilenet-v1:0.2"], "privacy_epochs": 1,
    "most_updates": 2, "restart_every": None,
}  # fmt: skip
SPACT = {k: v for k, v in SMALL.items() if k not in ("privacy_models", "privacy_epochs",
         "most_updates", "restart_every")} | {"branch_model": "mobilenet-v1:0.1",
                                              "branch_epochs": 1}  # fmt: skip
NOISY = {k: v for k, v in SPACT.items() if not k.startswith("branch")}


def clips(n: int = 20, *, secret: str | None = None) -> Dataset:
    """Noise with a bright corner for one class of `secret`."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(60, 120, (n, 4, 12, 12, 3)).astype(np.uint8)
    code = np.arange(n) % 2
    pixels[code == 1, :, :5, :5] += 60
    return Dataset.from_arrays(
        pixels,
        {
            "secret": [f"s{v}" for v in (code if secret is None else np.arange(n) // 5 % 2)],
            "other": [f"o{v}" for v in np.arange(n) // 3 % 2],
            "useful": [f"u{v}" for v in np.arange(n) // 2 % 2],
            "split": [("train", "train", "train", "val")[i % 4] for i in range(n)],
        },
    )


def fitted(
    method: str,
    data: Dataset | None = None,
    *,
    suppress: str = "secret",
    preserve: str = "useful",
    key: bytes | None = None,
    progress: Any = None,
    **config: Any,
) -> Bundle:
    return withhold.fit(
        clips() if data is None else data,
        suppress,
        preserve,
        method=method,
        config={"spact": SPACT, "noisy-features": NOISY}.get(method, SMALL) | config,
        key=key,
        progress=progress,
    )
