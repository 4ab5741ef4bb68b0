"""Withhold: suppress chosen attributes of a dataset, keep the rest, and measure the proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from withhold.audit.evaluate import evaluate as audit
    from withhold.bundle import load_bundle as load
    from withhold.certificate.certify import certify
    from withhold.dataset import Dataset
    from withhold.suppressor import Suppressor

__all__ = ["Dataset", "Suppressor", "__version__", "audit", "certify", "load"]

_WHERE = {
    "Dataset": ("withhold.dataset", "Dataset"),
    "Suppressor": ("withhold.suppressor", "Suppressor"),
    "certify": ("withhold.certificate.certify", "certify"),
    "load": ("withhold.bundle", "load_bundle"),
}


def __getattr__(name: str) -> Any:
    # Public names are imported when first used: `withhold --help` must not wait for torch.
    from importlib import import_module

    if name == "audit":  # the package itself can be called
        return import_module("withhold.audit")
    if name not in _WHERE:
        raise AttributeError(f"module 'withhold' has no attribute '{name}'")
    module, attribute = _WHERE[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
