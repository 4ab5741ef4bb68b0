"""Every trained method on clips keeps the contract."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from contracts.clip_method import ClipMethodContract
from withhold.methods.clips import adversarial, meta, noisy_features, spact

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {
    "height": 16, "width": 16, "frames": 4, "unet_width": 2, "unet_depth": 1, "batch": 8,
    "action_model": "r3d18:0.1", "epochs": 3, "reconstruction_epochs": 1, "action_epochs": 1,
}  # fmt: skip
READ: dict[str, Any] = {
    **SMALL, "privacy_models": ["mobilenet-v1:0.1", "resnet18:0.1"], "privacy_epochs": 1,
    "check_every": 2, "restart_every": 4, "restart_updates": 2, "most_updates": 2,
}  # fmt: skip


class TestAdversarial(ClipMethodContract):
    method = "adversarial"
    module = adversarial.__name__
    config: ClassVar[dict[str, Any]] = READ


class TestMeta(ClipMethodContract):
    method = "meta"
    module = meta.__name__
    config: ClassVar[dict[str, Any]] = READ


class TestNoisyFeatures(ClipMethodContract):
    method = "noisy-features"
    module = noisy_features.__name__
    config: ClassVar[dict[str, Any]] = SMALL


class TestSpact(ClipMethodContract):
    method = "spact"
    module = spact.__name__
    config: ClassVar[dict[str, Any]] = {**SMALL, "branch_model": "resnet18:0.1", "branch_epochs": 1}
