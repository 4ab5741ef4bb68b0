"""The audit: attackers, tiers and figures. `withhold.audit(...)` is the action of this name."""

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.evaluate import evaluate
from withhold.audit.evidence import Evidence

__all__ = ["AttributeEvidence", "Evidence", "evaluate"]
