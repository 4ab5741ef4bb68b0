"""The audit: attackers, tiers and figures. The package can be called: `audit(data, release, …)`."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.evaluate import evaluate
from withhold.audit.evidence import Evidence

__all__ = ["AttributeEvidence", "Evidence", "evaluate"]


class _Callable(ModuleType):
    """`from withhold import audit` gives this package, and the front door calls it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Evidence:
        return evaluate(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
