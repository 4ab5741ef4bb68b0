"""`pass`: each record is replaced by a sampled substitute. (The name itself is a keyword.)"""

from withhold.methods.substitutes.config import PassConfig
from withhold.methods.substitutes.fit import Pass
from withhold.methods.substitutes.modifier import PassModifier

__all__ = ["Pass", "PassConfig", "PassModifier"]
