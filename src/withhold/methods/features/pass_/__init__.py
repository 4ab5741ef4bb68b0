"""`pass`: each record is replaced by a sampled substitute. (`pass` is a keyword of Python.)"""

from withhold.methods.features.pass_.config import PassConfig
from withhold.methods.features.pass_.fit import Pass
from withhold.methods.features.pass_.modifier import PassModifier

__all__ = ["Pass", "PassConfig", "PassModifier"]
