"""`exact`: codes for given records, used by every suppressed class in exactly the same shares."""

from withhold.methods.features.exact.config import ExactConfig
from withhold.methods.features.exact.fit import ExactMethod
from withhold.methods.features.exact.modifier import ExactModifier

__all__ = ["ExactConfig", "ExactMethod", "ExactModifier"]
