"""`mass`: Multi-attribute Selective Suppression."""

from withhold.methods.features.mass.attribute_terms import AttributeTerm
from withhold.methods.features.mass.config import MassConfig
from withhold.methods.features.mass.fit import Mass, modifier_losses, train_modifier
from withhold.methods.features.mass.modifier import MassModifier

__all__ = [
    "AttributeTerm",
    "Mass",
    "MassConfig",
    "MassModifier",
    "modifier_losses",
    "train_modifier",
]
