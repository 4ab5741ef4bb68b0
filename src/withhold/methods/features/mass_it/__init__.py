"""`mass-it`: suppression with limits in bits, against adversaries that keep learning."""

from withhold.methods.features.mass_it.config import MassItConfig
from withhold.methods.features.mass_it.fit import MassIt
from withhold.methods.features.mass_it.limits import MassItLimits, limits_of
from withhold.methods.features.mass_it.modifier import MassItModifier

__all__ = ["MassIt", "MassItConfig", "MassItLimits", "MassItModifier", "limits_of"]
