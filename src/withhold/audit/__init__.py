"""The audit: attackers, tiers and figures. Call it as `withhold.audit(...)`."""

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.evaluate import evaluate
from withhold.audit.evidence import Evidence

__all__ = ["AttributeEvidence", "Evidence", "evaluate"]
