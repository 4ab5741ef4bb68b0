"""`mass`: Multi-attribute Selective Suppression."""

from withhold.methods.mass.config import MassConfig
from withhold.methods.mass.fit import Mass, modifier_losses, train_modifier
from withhold.methods.mass.modifier import MassModifier
from withhold.methods.mass.terms import AttributeTerm

__all__ = [
    "AttributeTerm",
    "Mass",
    "MassConfig",
    "MassModifier",
    "modifier_losses",
    "train_modifier",
]
