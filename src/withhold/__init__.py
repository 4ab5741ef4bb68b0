"""Withhold: suppress chosen attributes of a dataset, keep the rest, and measure what leaks."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# If OpenMP threads spin while they wait, a training step is several times slower as soon as another
# program needs a core. If they sleep, it is a quarter slower on an idle machine. So they sleep.
# OpenMP reads this when torch is loaded: import withhold first, or set it yourself.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from withhold.actions.audit import audit
    from withhold.actions.export import export_onnx, onnx_inputs
    from withhold.actions.fit import fit
    from withhold.actions.release import release
    from withhold.audit.leakage_scorer import leakage_scorer
    from withhold.bundle.bundle import load_bundle as load
    from withhold.certificate.certify_bundle import certify
    from withhold.media.extract_features import extract
    from withhold.records.dataset import Dataset
    from withhold.release import engines
    from withhold.suppressor import Suppressor

__all__ = [
    "Dataset",
    "Suppressor",
    "__version__",
    "audit",
    "certify",
    "engines",
    "export_onnx",
    "extract",
    "fit",
    "leakage_scorer",
    "load",
    "onnx_inputs",
    "release",
]

_WHERE = {
    "Dataset": ("withhold.records.dataset", "Dataset"),
    "Suppressor": ("withhold.suppressor", "Suppressor"),
    "audit": ("withhold.audit", None),
    "certify": ("withhold.certificate.certify_bundle", "certify"),
    "engines": ("withhold.release.engines", None),
    "export_onnx": ("withhold.actions.export", "export_onnx"),
    "extract": ("withhold.media.extract_features", "extract"),
    "fit": ("withhold.actions.fit", "fit"),
    "leakage_scorer": ("withhold.audit.leakage_scorer", "leakage_scorer"),
    "release": ("withhold.release", None),
    "load": ("withhold.bundle.bundle", "load_bundle"),
    "onnx_inputs": ("withhold.actions.export", "onnx_inputs"),
}
_ACTIONS = {
    "audit": "withhold.actions.audit",
    "release": "withhold.actions.release",
}  # packages with the same name as an action


def __getattr__(name: str) -> Any:
    # Public names are imported on first use, so that `withhold --help` does not wait for torch.
    if name not in _WHERE:
        raise AttributeError(f"module 'withhold' has no attribute '{name}'")
    module, attribute = _WHERE[name]
    found = import_module(module)
    return found if attribute is None else getattr(found, attribute)


def __dir__() -> list[str]:
    return sorted(__all__)


class _Action(ModuleType):
    """A package that can be called: `withhold.audit(...)` is the action of that name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)

    @property
    def __wrapped__(self) -> Any:  # what `inspect.signature` and `help` follow
        name = self.__name__.rpartition(".")[2]
        return getattr(import_module(_ACTIONS[name]), name)


class _FrontDoor(ModuleType):
    """Importing a subpackage sets an attribute here; one with the name of an action is callable."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _ACTIONS and type(value) is ModuleType:
            value.__class__ = _Action
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _FrontDoor
